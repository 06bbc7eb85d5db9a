import { createHash, type KeyObject } from 'node:crypto';
import type { Envelope } from '../core/envelope.ts';
import { parseBody } from '../signing/index.ts';
import type { BodyThread } from './body-thread.ts';
import type { Certificates } from './certificates.ts';
import type { Content } from './content.ts';
import type { HandedSecrets } from './handed-secrets.ts';
import { handshakes, type ShakeContext, type ShakeResult } from './handshakes/index.ts';
import { type Inspected, inspect } from './inspect.ts';
import { type Judgement, noEvent, nothing, reject } from './journal-row.ts';
import type { Arrival } from './receive.ts';
import { replyTo } from './reply.ts';
import type { Source } from './sources.ts';

export type JudgeDeps = {
  readonly thread: BodyThread;
  readonly certificates: Certificates;
  readonly handed: HandedSecrets;
  /** Remembers a token of a sender; 'reused' where it came before with another body. */
  readonly useToken: (
    source: number,
    token: string,
    bodyDigest: Buffer,
  ) => Promise<'fresh' | 'reused' | 'unavailable'>;
  /** Remembers a URL that confirms a subscription. */
  readonly addCallback: (source: number, url: string) => Promise<'added' | 'unavailable'>;
  /** When this gateway began: for a while after it, bare probes of a source without a secret are answered. */
  readonly startedAt: number;
};

/** A larger body is inspected in a thread of its own (EDGE-4). */
const mostBytesInline = 1024 * 1024;
const probeMs = 120_000;

type Judged = Judgement | 'unavailable' | 'method_not_allowed';

/** A request with another method: part of the source's handshake, or refused. */
export async function judgeProbe(arrival: Arrival, source: Source, deps: JudgeDeps): Promise<Judged> {
  const name = source.provider?.handshake;
  const shake = name === undefined ? undefined : handshakes[name];
  const { method, query, rawHeaders, receivedAt } = arrival;
  const keys = source.keys();
  const isPending = keys.length === 0 && source.scheme.check.needsSecret && shake !== undefined;
  if (shake?.methods.includes(method) === true) {
    const envelope = { method, query, rawHeaders, receivedAt, body: nothing };
    const result = shake.unsigned?.(contextOf(envelope, source, { keys, payload: () => undefined }));
    if (result !== undefined) return concluded(result, { body: nothing, source, deps });
  }
  const isProbe = isPending && ['GET', 'HEAD'].includes(method) && receivedAt - deps.startedAt <= probeMs;
  return isProbe
    ? concluded({ reply: { status: 200 } }, { body: nothing, source, deps })
    : 'method_not_allowed';
}

/**
 * Gates 5 to 10, with the handshakes where they belong: unsigned ones before the signature is looked at, signed ones
 * after it holds (or while the source has no secret yet, for those that need none).
 */
export async function judge(
  arrival: Arrival,
  source: Source,
  { signed, read }: Content,
  deps: JudgeDeps,
): Promise<Judgement | 'unavailable'> {
  const { method, query, rawHeaders, receivedAt } = arrival;
  const envelope: Envelope = { method, query, rawHeaders, body: signed, receivedAt };
  const refuse = (reason: Parameters<typeof reject>[0]) => reject(reason, read, { arrival, source });
  const shake = source.provider?.handshake === undefined ? undefined : handshakes[source.provider.handshake];
  const isLarge = read.length > mostBytesInline;
  const payload = lazyPayload({ ...envelope, body: read }, source, isLarge);
  const keys = await keysOf(envelope, source, { payload, deps });
  if (keys === 'unavailable') return keys;
  const context = contextOf({ ...envelope, body: read }, source, { keys, payload });

  const before = shake?.unsigned?.(context);
  if (before !== undefined) return concluded(before, { body: read, source, deps });
  if (isWithoutSecret(source, keys)) {
    const pending = shake?.signed?.(context);
    return pending === undefined ? refuse('no_secret') : concluded(pending, { body: read, source, deps });
  }

  const content = read === signed ? undefined : read;
  const inspected = await inspectIt(envelope, source, {
    keys,
    content,
    clientIp: arrival.clientIp,
    isLarge,
    deps,
  });
  if (inspected === 'busy') return 'unavailable';
  if (!inspected.ok) return refuse(inspected.reason);
  if (inspected.usedToken !== null) {
    const used = await deps.useToken(
      source.id,
      inspected.usedToken,
      createHash('sha256').update(read).digest(),
    );
    if (used !== 'fresh') return used === 'reused' ? refuse('reused_token') : used;
  }
  const after = shake?.signed?.({ ...context, payload: () => inspected.payload });
  if (after !== undefined) return concluded(after, { body: read, source, deps });
  if (inspected.eventId === 'absent') return refuse('no_event_id');
  if (inspected.eventId === 'bad') return refuse('bad_event_id');
  return accept(source, inspected, { eventId: inspected.eventId.value, body: read });
}

function accept(
  source: Source,
  inspected: Extract<Inspected, { ok: true }>,
  { eventId, body }: { eventId: string; body: Buffer },
): Judgement {
  const { eventType, senderEventId, itemIds, payload } = inspected;
  const isSkipped = eventType !== null && source.skippedTypes.has(eventType);
  return {
    status: isSkipped ? 'skipped' : 'accepted',
    reason: isSkipped ? eventType : null,
    eventId,
    senderEventId,
    itemIds,
    claimedEventId: null,
    eventType,
    size: body.length,
    body,
    reply: replyTo(source.provider, payload),
  };
}

/** Parsed once for handshakes and schemes that sign inside the body; a large body is none of these. */
function lazyPayload(envelope: Envelope, source: Source, isLarge: boolean): () => unknown {
  let parsed: ReturnType<typeof parseBody> | undefined;
  return () => {
    if (isLarge) return undefined;
    parsed ??= parseBody(envelope, source.scheme.body);
    return parsed === 'bad_body' ? undefined : parsed.payload;
  };
}

function contextOf(
  envelope: Envelope,
  source: Source,
  { keys, payload }: { keys: readonly KeyObject[]; payload: () => unknown },
): ShakeContext {
  return { envelope, payload, keys, verifyTokens: source.verifyTokens() };
}

/** The keys of the source, or of the certificate that the request names and that its sender's host gave. */
async function keysOf(
  envelope: Envelope,
  source: Source,
  { payload, deps }: { payload: () => unknown; deps: JudgeDeps },
): Promise<readonly KeyObject[] | 'unavailable'> {
  const keys = source.keys();
  const { check } = source.scheme;
  if (keys.length > 0 || check.certificateUrl === undefined) return keys;
  const url = check.certificateUrl(envelope, check.readsBody ? payload() : undefined);
  if (url === undefined || url === 'bad') return keys;
  const key = await deps.certificates.keyOf(url);
  return key === undefined ? 'unavailable' : [key];
}

function isWithoutSecret(source: Source, keys: readonly KeyObject[]): boolean {
  if (source.scheme.check.needsSecret && keys.length === 0) return true;
  return source.further.some(({ scheme, keys: own }) => scheme.check.needsSecret && own().length === 0);
}

async function inspectIt(
  envelope: Envelope,
  source: Source,
  of: {
    keys: readonly KeyObject[];
    content: Buffer | undefined;
    clientIp: string | null;
    isLarge: boolean;
    deps: JudgeDeps;
  },
): Promise<Inspected | 'busy'> {
  const { toleranceSeconds, dedupesByBody, scheme, further } = source;
  const by = { toleranceSeconds, dedupesByBody, clientIp: of.clientIp, content: of.content };
  const others = further.map((each) => ({ scheme: each.scheme, keys: each.keys() }));
  if (!of.isLarge) return inspect(envelope, { ...by, checks: [{ scheme, keys: of.keys }, ...others] });
  const keys = [of.keys, ...others.map((each) => each.keys)];
  return of.deps.thread.inspect({ ...by, config: source.config, keys, envelope });
}

/** The end of a handshake: what it hands over is stored first, then it is journaled, then answered. */
async function concluded(
  result: Exclude<ShakeResult, undefined>,
  { body, source, deps }: { body: Buffer; source: Source; deps: JudgeDeps },
): Promise<Judgement | 'unavailable'> {
  const row = { ...noEvent, status: 'handshake' as const, size: body.length, body: nothing };
  if (result === 'refused') return { ...row, reason: 'refused' };
  if (result.secret !== undefined) {
    const taken = await deps.handed.take(source.code, source.id, result.secret);
    if (taken !== 'taken') return taken === 'refused' ? { ...row, reason: 'refused' } : 'unavailable';
  }
  if (result.callback !== undefined) {
    const added = await deps.addCallback(source.id, result.callback);
    if (added === 'unavailable') return added;
  }
  return { ...row, reason: source.provider?.handshake ?? 'probe', reply: result.reply };
}
