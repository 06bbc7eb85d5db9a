import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { soleHeader } from '../core/headers.ts';
import {
  bad,
  type Check,
  type Draft,
  missing,
  type SchemeOptions,
  type Signer,
  type Verdict,
} from './check.ts';
import { equalText } from './compare.ts';
import { formText, formValue, parseForm } from './form-body.ts';
import { secretProblem, signingKey } from './secrets.ts';
import { isForm } from './signed-body.ts';
import { uriOf } from './template.ts';

/**
 * The family `twilio` ("Security" in Twilio's guides): base64 of HMAC-SHA1 over the full URL and, of a form, every field's
 * name and value, sorted by name. Any other body is covered by its SHA-256 in the parameter `bodySHA256` of that URL.
 * Name and value stand together without a separator, so that who saw one request can shift one into the other: that is
 * Twilio's own limit.
 */
export type TwilioCheck = { readonly family: 'twilio' };

const header = 'x-twilio-signature';
const keyEncoding = 'utf8';
const base64OfSha1 = 28;

export function twilioCheck({ publicUrl = '' }: SchemeOptions): Check {
  return {
    needsSecret: true,
    readsBody: false,
    secretHeaders: [header],
    hasTimestamp: false,
    signsId: false,
    secretProblem: (text) => secretProblem(text, { keyEncoding }),
    keyOf: (text) => signingKey(text, keyEncoding),
    judge: (envelope, keys) => judge(publicUrl, envelope, keys),
    sign: (draft, signer) => sign(publicUrl, draft, signer),
  };
}

function judge(publicUrl: string, envelope: Envelope, keys: readonly KeyObject[]): Verdict {
  const claimed = soleHeader(envelope.rawHeaders, header);
  if (claimed === 'absent' || (typeof claimed === 'object' && claimed.value === '')) return missing;
  if (claimed === 'repeated' || claimed.value.length !== base64OfSha1) return bad;
  const fields = signedFields(envelope);
  if (fields === undefined) return bad;
  const url = envelope.query === '' ? publicUrl : uriOf(publicUrl, envelope.query);
  const secretIndex = keys.findIndex(
    (key) =>
      key.type === 'secret' &&
      key.symmetricKeySize !== 0 &&
      spellings(url).some((spelling) => equalText(macOf(key, spelling + fields), claimed.value)),
  );
  return secretIndex < 0 ? bad : { ok: true, secretIndex };
}

/** What is signed behind the URL, or undefined where the body is not covered. */
function signedFields(envelope: Envelope): string | undefined {
  const digest = formValue(envelope.query, 'bodySHA256');
  if (typeof digest === 'object') {
    const expected = createHash('sha256').update(envelope.body).digest('hex');
    return equalText(expected, digest.value.toLowerCase()) ? '' : undefined;
  }
  if (digest === 'repeated') return undefined;
  if (envelope.body.length === 0) return '';
  const pairs = isForm(envelope.rawHeaders) ? parseForm(envelope.body) : undefined;
  if (pairs === undefined) return undefined;
  const values = new Map<string, Set<string>>();
  for (const [name, value] of pairs) values.set(name, (values.get(name) ?? new Set()).add(value));
  const names = [...values.keys()].sort();
  return names
    .map((name) =>
      [...(values.get(name) as Set<string>)]
        .sort()
        .map((value) => name + value)
        .join(''),
    )
    .join('');
}

/** The URL as Twilio may have spelled it: with the default port and without any, its query as it came and encoded anew. */
function spellings(url: string): string[] {
  const parts = /^(https?):\/\/((?:[^@/?#]*@)?)([^/?#:]*|\[[^\]]*\])(:\d+)?([^?]*)(?:\?(.*))?$/s.exec(url);
  if (parts === null) return [url];
  const [, protocol, user, host, port, path, query] = parts;
  const ports = [port ?? '', port === undefined ? (protocol === 'http' ? ':80' : ':443') : ''];
  const queries = query === undefined ? [''] : [`?${query}`, `?${encodedAnew(query)}`];
  const all = ports.flatMap((shown) =>
    queries.map((shownQuery) => `${protocol}://${user}${host}${shown}${path}${shownQuery}`),
  );
  return [...new Set([url, ...all])];
}

function encodedAnew(query: string): string {
  return query
    .split('&')
    .map((pair) =>
      pair
        .split('=')
        .map((text) => encodeURIComponent(formText(text) ?? text))
        .join('='),
    )
    .join('&');
}

function macOf(key: KeyObject, signed: string): string {
  return createHmac('sha1', key).update(signed).digest('base64');
}

function sign(publicUrl: string, draft: Draft, { key }: Signer): Draft {
  const secret = typeof key === 'string' ? signingKey(key, keyEncoding) : key;
  if (secret === undefined) throw new Error('the secret cannot be used as a key of this scheme');
  const rawHeaders = Object.entries(draft.headers).flat();
  const digest = createHash('sha256').update(draft.body).digest('hex');
  const query = isForm(rawHeaders)
    ? draft.query
    : `${draft.query}${draft.query === '' ? '' : '&'}bodySHA256=${digest}`;
  const { method, body } = draft;
  const fields = signedFields({ method, query, rawHeaders, body, receivedAt: 0 }) ?? '';
  const url = query === '' ? publicUrl : uriOf(publicUrl, query);
  return { ...draft, query, headers: { ...draft.headers, [header]: macOf(secret, url + fields) } };
}
