import type { IncomingMessage, ServerResponse } from 'node:http';
import { impossible, type ReceiveOutcome } from '../core/outcome.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Receipt, Receive } from './receive.ts';

const prefix = '/api/v1/webhooks/';

export type InboundMetrics = { answered(source: string, outcome: ReceiveOutcome, seconds: number): void };

export type InboundHttp = {
  /** Answers a request for a webhook and says true; leaves every other request alone and says false. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
};

/**
 * Translates HTTP into an Arrival and an outcome into a status; it decides nothing. It stands in front of the
 * framework, whose own answers (415, 400 for a bad escape, 404 with a body that echoes the path) would come first.
 */
export function createInboundHttp(deps: {
  receive: Receive;
  clock: Clock;
  log: Log;
  budget: BodyBudget;
  clientIp: (request: IncomingMessage) => string | null;
  metrics?: InboundMetrics;
}): InboundHttp {
  async function answer(request: IncomingMessage, response: ServerResponse, code: string, query: string) {
    const started = performance.now();
    const body = new BodyReader(request, deps.budget);
    const receipt = await deps.receive({
      source: code,
      method: request.method ?? '',
      query,
      rawHeaders: request.rawHeaders,
      receivedAt: deps.clock.now(),
      via: 'direct',
      clientIp: deps.clientIp(request),
      readBody: (mostBytes) => body.read(mostBytes),
      reserve: (bytes) => body.reserve(bytes),
    });
    body.release();
    send(request, response, receipt);
    deps.metrics?.answered(code, receipt.outcome, (performance.now() - started) / 1000);
  }

  return {
    handle(request, response) {
      const url = originForm(request.url ?? '');
      if (!url.startsWith(prefix)) return false;
      const mark = url.indexOf('?');
      const code = mark < 0 ? url.slice(prefix.length) : url.slice(prefix.length, mark);
      answer(request, response, code, mark < 0 ? '' : url.slice(mark + 1)).catch((error: Error) => {
        // Nothing in the path throws on purpose; if it does, nothing was acknowledged and the sender comes back.
        deps.log.error(
          { event: 'request.failed', reason: error.message, stack: error.stack },
          'a webhook could not be received',
        );
        if (!response.headersSent) send(request, response, { outcome: 'unavailable' });
      });
      return true;
    },
  };
}

/** A request may name the whole URL (RFC 9112, 3.2.2); what counts is its path. */
function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '');
}

/** Statuses of IN-1 and IN-8; a refusal is empty and never says why (SIG-12). */
function statusOf(outcome: ReceiveOutcome): number {
  switch (outcome) {
    case 'accepted':
    case 'duplicate':
    case 'skipped':
    case 'handshake':
      return 200;
    case 'bad_body':
    case 'no_event_id':
    case 'bad_event_id':
    case 'unstorable':
    case 'aborted':
      return 400;
    case 'no_secret':
    case 'missing_signature':
    case 'bad_signature':
    case 'stale':
    case 'reused_token':
      return 401;
    case 'handshake_refused':
      return 403;
    case 'unknown_source':
      return 404;
    case 'method_not_allowed':
      return 405;
    case 'too_large':
      return 413;
    case 'unsupported_encoding':
      return 415;
    case 'disabled':
    case 'unavailable':
      return 503;
    default:
      return impossible(outcome);
  }
}

const extraHeaders: Partial<Record<ReceiveOutcome, [string, string]>> = {
  disabled: ['Retry-After', '60'],
  unavailable: ['Retry-After', '5'],
};

/** Unread bodies up to this size are read to their end and dropped, so that the sender sees the answer. */
const mostDroppedBytes = 1024 * 1024;

function send(request: IncomingMessage, response: ServerResponse, { outcome, reply, allow }: Receipt): void {
  if (outcome === 'aborted') return;
  const status = reply?.status ?? statusOf(outcome);
  const body = reply?.body ?? '';
  // A 204 has no length (RFC 9110, 8.6).
  const headers = status === 204 ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  if (reply?.contentType !== undefined) {
    headers.push('Content-Type', reply.contentType, 'X-Content-Type-Options', 'nosniff');
  }
  for (const [name, value] of reply?.headers ?? []) headers.push(name, value);
  const extra = extraHeaders[outcome];
  if (extra !== undefined) headers.push(...extra);
  if (allow !== undefined) headers.push('Allow', allow);
  if (!request.complete && bodyMayBeLong(request)) headers.push('Connection', 'close');
  response.writeHead(status, headers);
  response.end(body);
}

function bodyMayBeLong(request: IncomingMessage): boolean {
  if (request.headers['transfer-encoding'] !== undefined) return true;
  return Number(request.headers['content-length'] ?? 0) > mostDroppedBytes;
}

/** Reads one body within its bounds, and holds its bytes of the budget until the request is answered. */
class BodyReader {
  readonly #request: IncomingMessage;
  readonly #budget: BodyBudget;
  #reserved = 0;

  constructor(request: IncomingMessage, budget: BodyBudget) {
    this.#request = request;
    this.#budget = budget;
  }

  release(): void {
    this.#budget.release(this.#reserved);
    this.#reserved = 0;
  }

  read(mostBytes: number): Promise<Buffer | 'too_large' | 'busy' | 'aborted'> {
    const request = this.#request;
    const declared = request.headers['content-length'];
    if (declared !== undefined && Number(declared) > mostBytes) return Promise.resolve('too_large');
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const take = (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) refuse('too_large');
        else if (!this.#grow(chunk.length)) refuse('busy');
        else chunks.push(chunk);
      };
      const refuse = (reason: 'too_large' | 'busy') => {
        request.off('data', take);
        request.resume();
        resolve(reason);
      };
      request.on('data', take);
      request.on('end', () =>
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)),
      );
      // Comes after `end` too, when there is nothing left to resolve. Without an `error` listener a cut is silent.
      request.on('close', () => resolve('aborted'));
    });
  }

  /** Takes memory beside what is read. */
  reserve(bytes: number): boolean {
    return this.#grow(bytes);
  }

  #grow(bytes: number): boolean {
    if (!this.#budget.reserve(bytes, this.#reserved)) return false;
    this.#reserved += bytes;
    return true;
  }
}
