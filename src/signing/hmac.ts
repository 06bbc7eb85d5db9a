import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import {
  bad,
  type Check,
  type CheckContext,
  type Draft,
  missing,
  type SchemeOptions,
  type Signer,
  type Verdict,
  withinWindow,
} from './check.ts';
import { equalText } from './compare.ts';
import { claimsOf, type Metadata, metadataOf, numberedNames } from './hmac-claims.ts';
import { valueAt, withValueAt } from './paths.ts';
import { type KeyEncoding, secretProblem, signingKey } from './secrets.ts';
import { signedBodies } from './signed-body.ts';
import { feed, idEnds, type PartValues, type SignedPart, signedParts, uriOf } from './template.ts';
import { comparableTime, parseTimestamp, type TimeUnit, timestampText } from './timestamp.ts';

/**
 * The family `hmac`: a keyed hash, or a plain one whose template holds the secret, over a template, in a header. What a
 * user may say of it in a configuration stands in scheme.ts; the rest is for the rows of providers.
 */
export type HmacCheck = {
  readonly family: 'hmac' | 'digest';
  readonly hash: 'sha256' | 'sha1' | 'sha512';
  /** How the secret's text becomes key bytes; default utf8. */
  readonly key?: KeyEncoding | undefined;
  readonly header: string;
  /** Other headers that may carry it instead or beside; any signature that matches is enough. */
  readonly alsoHeaders?: readonly string[];
  /** The header's name goes on with `-1` to `-<numbered>`. */
  readonly numbered?: number;
  readonly prefix?: string | undefined;
  readonly list?: string | undefined;
  readonly field?: string | undefined;
  readonly encoding: 'hex' | 'base64';
  /** Templates; the first is the usual one, any that matches is enough. */
  readonly signed: string | readonly string[];
  /** What is signed instead of the body: see signed-body.ts. */
  readonly body?: 'raw' | 'payload-field' | 'decoded-form';
  /** The header with the id, where the template holds {id}. */
  readonly idHeader?: string | undefined;
  /** Docs of the sender tell to decode the URI first, its library does not: both are tried. */
  readonly decodesUri?: boolean;
  readonly timestamp?: TimestampRule | undefined;
};

export type TimestampRule = ({ header: string } | { field: string } | { json: string }) & { unit: TimeUnit };

/** The same with its names in lower case and its templates cut. */
export type Compiled = Omit<HmacCheck, 'key' | 'prefix' | 'signed' | 'numbered'> & {
  readonly keyEncoding: KeyEncoding;
  readonly headers: readonly string[];
  readonly numbered: number;
  readonly prefix: string;
  readonly templates: readonly (readonly SignedPart[])[];
  readonly idEnds: readonly string[];
  readonly textLength: number;
  readonly publicUrl: string;
};

export function hmacCheck(check: HmacCheck, options: SchemeOptions): Check {
  const scheme = compile(check, options);
  const secretHeaders =
    scheme.numbered === 0 ? scheme.headers : numberedNames(scheme.header, scheme.numbered);
  return {
    needsSecret: true,
    readsBody: false,
    secretHeaders,
    hasTimestamp: scheme.timestamp !== undefined,
    signsId: scheme.idHeader !== undefined,
    secretProblem: (text) => secretProblem(text, scheme),
    keyOf: (text) => signingKey(text, scheme.keyEncoding),
    judge: (envelope, keys, context) => judge(scheme, envelope, keys, context),
    sign: (draft, signer) => sign(scheme, draft, signer),
  };
}

function compile(check: HmacCheck, options: SchemeOptions): Compiled {
  const { key, prefix, signed, numbered, timestamp, ...rest } = check;
  const templates = (typeof signed === 'string' ? [signed] : signed).map(signedParts);
  const header = check.header.toLowerCase();
  return {
    ...rest,
    header,
    keyEncoding: key ?? 'utf8',
    headers: [header, ...(check.alsoHeaders ?? []).map((name) => name.toLowerCase())],
    numbered: numbered ?? 0,
    prefix: prefix ?? '',
    templates,
    idHeader: check.idHeader?.toLowerCase(),
    idEnds: idEnds(templates[0] as SignedPart[]),
    timestamp:
      timestamp && 'header' in timestamp
        ? { ...timestamp, header: timestamp.header.toLowerCase() }
        : timestamp,
    textLength: textLengths[check.encoding][check.hash],
    publicUrl: options.publicUrl ?? '',
  };
}

const textLengths = {
  hex: { sha1: 40, sha256: 64, sha512: 128 },
  base64: { sha1: 28, sha256: 44, sha512: 88 },
};

function judge(
  scheme: Compiled,
  envelope: Envelope,
  keys: readonly KeyObject[],
  context: CheckContext,
): Verdict {
  const found = claimsOf(scheme, envelope.rawHeaders);
  if (typeof found === 'string') return found === 'absent' ? missing : bad;
  const { claimed, items } = found;
  if (claimed.length === 0) return bad;
  const metadata = metadataOf(scheme, envelope, items);
  if (typeof metadata === 'string') return metadata === 'absent' ? missing : bad;
  const secretIndex = indexOfSigner(scheme, keys, { claimed, metadata, envelope });
  if (secretIndex < 0) return bad;

  const rule = scheme.timestamp;
  if (rule === undefined) return { ok: true, secretIndex };
  const text = 'json' in rule ? timeInBody(context.payload(), rule.json) : metadata.timestamp;
  const timestamp = parseTimestamp(text, rule.unit);
  // Only a time in the body can be of a wrong form here: it is known to be the sender's own.
  if (timestamp === undefined) return bad;
  const receivedAt = comparableTime(envelope.receivedAt, rule.unit);
  return withinWindow(timestamp, secretIndex, { receivedAt, toleranceSeconds: context.toleranceSeconds });
}

function timeInBody(payload: unknown, path: string): string {
  const value = valueAt(payload, path.split('.'));
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The first key that one of the claimed signatures was made with, or -1. */
function indexOfSigner(
  scheme: Compiled,
  keys: readonly KeyObject[],
  { claimed, metadata, envelope }: { claimed: readonly string[]; metadata: Metadata; envelope: Envelope },
): number {
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as KeyObject;
    if (key.type !== 'secret' || key.symmetricKeySize === 0) continue;
    for (const body of signedBodies(envelope, scheme.body)) {
      for (const parts of scheme.templates) {
        for (const uri of urisOf(scheme, envelope)) {
          const values = {
            ...metadata,
            body,
            url: scheme.publicUrl,
            uri,
            method: envelope.method,
            secret: '',
          };
          const expected = signatureText(scheme, key, parts, values);
          for (const text of claimed) if (equalText(expected, text)) return index;
        }
      }
    }
  }
  return -1;
}

const oneUri = [''];

function urisOf(scheme: Compiled, envelope: Envelope): readonly string[] {
  if (scheme.publicUrl === '') return oneUri;
  const uri = uriOf(scheme.publicUrl, envelope.query);
  if (scheme.decodesUri !== true) return [uri];
  const decoded = uri.replace(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (code) => decodeURIComponent(code));
  return decoded === uri ? [uri] : [uri, decoded];
}

/** The signature as text in the scheme's encoding. */
function signatureText(
  scheme: Compiled,
  key: KeyObject,
  parts: readonly SignedPart[],
  values: PartValues,
): string {
  if (scheme.family === 'digest') {
    const hash = createHash(scheme.hash);
    feed(hash, parts, { ...values, secret: key.export() });
    return hash.digest(scheme.encoding);
  }
  const hmac = createHmac(scheme.hash, key);
  feed(hmac, parts, values);
  return hmac.digest(scheme.encoding);
}

function sign(scheme: Compiled, draft: Draft, { key, id, timestamp }: Signer): Draft {
  const secret = typeof key === 'string' ? signingKey(key, scheme.keyEncoding) : key;
  if (secret === undefined || secret.type !== 'secret')
    throw new Error('the secret cannot be used as a key of this scheme');
  const rule = scheme.timestamp;
  const time = rule === undefined ? '' : timestampText(timestamp, rule.unit);
  const body =
    rule !== undefined && 'json' in rule
      ? withTimeInBody(draft.body, rule.json, /^[0-9]+$/.test(time) ? Number(time) : time)
      : draft.body;
  const headers: Record<string, string> = { ...draft.headers };
  if (scheme.idHeader !== undefined) headers[scheme.idHeader] = id;
  const uri = scheme.publicUrl === '' ? '' : uriOf(scheme.publicUrl, draft.query);
  const { method, query } = draft;
  const envelope = { method, query, rawHeaders: Object.entries(headers).flat(), body, receivedAt: timestamp };
  const signedBody = signedBodies(envelope, scheme.body)[0] as Buffer;
  const values = { timestamp: time, id, body: signedBody, url: scheme.publicUrl, uri, method, secret: '' };
  const text = signatureText(scheme, secret, scheme.templates[0] as SignedPart[], values);
  const signature = `${scheme.prefix}${text}`;
  const items = scheme.field === undefined ? [signature] : [`${scheme.field}=${signature}`];
  if (rule && 'field' in rule) items.unshift(`${rule.field}=${time}`);
  else if (rule && 'header' in rule) headers[rule.header] = time;
  headers[scheme.numbered > 0 ? `${scheme.header}-1` : scheme.header] = items.join(scheme.list ?? '');
  return { ...draft, headers, body };
}

function withTimeInBody(body: Buffer, path: string, time: string | number): Buffer {
  return Buffer.from(JSON.stringify(withValueAt(JSON.parse(body.toString('utf8')), path.split('.'), time)));
}
