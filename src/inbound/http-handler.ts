import type { SendFailure } from '../core/outcome.ts';
import type { Clock } from '../platform/clock.ts';
import { createGuardedFetch, type GuardedFetch } from '../platform/guarded-fetch.ts';
import type { NameLookup } from '../platform/name-lookup.ts';
import { headerProblem } from '../platform/outgoing-headers.ts';
import { signStandard } from '../signing/index.ts';
import { type HttpConfig, handlerPolicy } from './handler-settings.ts';
import { type Handler, type HandlerEvent, HandlerVerdict } from './handlers.ts';

const endGraceMs = 1_000;

/** Statuses below 500 that ask for another try: conflict, too early, time-out, too many. */
const retriedRefusals = [408, 409, 425, 429];

/**
 * A handler that forwards the event over HTTP (IN-17): the same bytes and content type, signed as Standard Webhooks
 * with the handler's own secret. `secrets` gives what holds now: undefined = none configured, empty = not usable.
 */
export function createHttpHandler(
  { url, timeoutMs, allowPrivate }: HttpConfig,
  {
    secrets,
    clock,
    lookup,
  }: { secrets: () => readonly string[] | undefined; clock: Clock; lookup: NameLookup },
): Pick<Handler, 'run' | 'timeoutMs'> & Pick<GuardedFetch, 'close'> {
  const fetch = createGuardedFetch({ policy: handlerPolicy(allowPrivate), lookup });
  return {
    // The request ends at its own deadline, in its own words; the handler's time-out stands behind that.
    timeoutMs: timeoutMs + endGraceMs,
    close: () => fetch.close(),
    run: async (event, { signal }) => {
      const body = await event.body();
      const keys = secrets();
      if (keys?.length === 0)
        return new HandlerVerdict('failed', {
          reason: 'the secret of this handler cannot be used at the moment',
        });
      const headers = await headersOf(event, { body, keys, nowMs: clock.now() });
      const sent = await fetch.send({ url, method: 'POST', headers, body, signal, deadlineMs: timeoutMs });
      if (!sent.ok) return failureOf(sent.reason, timeoutMs);
      return verdictOf(sent.status, {
        output: sent.body.toString('utf8'),
        afterMs: retryAfterMs(sent.headers['retry-after'], clock.now()),
      });
    },
  };
}

async function headersOf(
  event: HandlerEvent,
  { body, keys, nowMs }: { body: Buffer; keys: readonly string[] | undefined; nowMs: number },
): Promise<[string, string][]> {
  const contentType = (await event.headers()).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  const timestampSeconds = Math.floor(nowMs / 1_000);
  const signed =
    keys === undefined
      ? { 'webhook-id': event.runId, 'webhook-timestamp': String(timestampSeconds) }
      : signStandard({ id: event.runId, timestampSeconds, body, secrets: keys });
  return [
    ...(contentType === undefined || headerProblem('content-type', contentType) !== undefined
      ? []
      : ([['content-type', contentType]] as [string, string][])),
    ...(Object.entries(signed) as [string, string][]),
    ['idempotency-key', event.runId],
    ['x-posthorn-source', event.source],
    ['x-posthorn-event-id', event.eventId],
    ...(event.eventType === null ? [] : ([['x-posthorn-event', event.eventType]] as [string, string][])),
    ['user-agent', 'posthorn'],
  ];
}

/** 2xx is done; refusals fail at once, but for those that mean "not now"; the rest is tried again. */
function verdictOf(status: number, { output, afterMs }: { output: string; afterMs: number | undefined }) {
  if (status >= 200 && status < 300) return new HandlerVerdict('done', { output });
  const reason = `the receiver answered ${status}`;
  if (status >= 400 && status < 500 && !retriedRefusals.includes(status))
    return new HandlerVerdict('rejected', { reason, output });
  // "At once" asks for nothing: it would be tried every second for a day, and no attempt used up.
  if (afterMs !== undefined && afterMs > 0)
    return new HandlerVerdict('retry_later', { afterMs, reason: `${reason} with Retry-After`, output });
  return new HandlerVerdict('failed', { reason, output });
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  // Date.parse would take "-5" and "1.5" for dates, long past.
  const at = /^[A-Z][a-z]+,? .*\d\d:\d\d:\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at - nowMs;
}

const failureText: Record<SendFailure, string> = {
  blocked:
    'the address of the receiver is not allowed: open its network with allowPrivate, or correct the URL',
  network: 'the receiver could not be reached',
  tls: "the receiver's certificate does not hold, or it speaks no TLS",
  closed: 'the receiver closed the connection before its answer',
  no_http: 'the receiver answered with something that is no HTTP, or that cannot be read',
  timeout: 'the receiver took longer than',
  aborted: 'the request was ended with its run',
};

function failureOf(reason: SendFailure, timeoutMs: number): HandlerVerdict {
  if (reason === 'timeout')
    return new HandlerVerdict('timed_out', { reason: `${failureText.timeout} ${timeoutMs} ms` });
  return new HandlerVerdict('failed', { reason: failureText[reason] });
}
