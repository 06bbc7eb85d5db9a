import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { Target } from './address-policy.ts';

/** What came back. The status decides: `isCut` says that the body is longer, or ended before its time. */
export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly isCut: boolean;
};

export type Exchange = {
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly mostAnswerBytes: number;
  readonly signal: AbortSignal;
};

/** The error code for a connection that was closed before anything was sent on it. */
export const connectionGone = 'UND_ERR_CONNECTION_GONE';

/** The status is all that counts, so an answer with long headers is not worth a failure. */
const mostHeaderBytes = 64 * 1024;
/** How long an unused connection is kept, unless the server says otherwise; at most the second. */
const keepMs = 4_000;
const mostKeepMs = 30_000;

/**
 * An HTTP/1.1 client over one connection that is already there. It never opens another one: where undici would, after
 * the connection closed, the request fails with `connectionGone`. Times are limited by the budget alone.
 */
export function createClient(target: Target, socket: Socket): Client {
  let isTaken = false;
  return new Client(target.url.origin, {
    connect: (_options, callback) => {
      const isGone = isTaken || socket.destroyed;
      isTaken = true;
      // Not at once: undici ignores a connection that is there before its connect function has returned.
      queueMicrotask(() =>
        isGone
          ? callback(Object.assign(new Error('the connection is gone'), { code: connectionGone }), null)
          : callback(null, socket),
      );
    },
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepMs,
    keepAliveMaxTimeout: mostKeepMs,
    maxHeaderSize: mostHeaderBytes,
  });
}

/**
 * Sends one request and reads the answer up to a bound. The body goes out as it is, with its Content-Length; beyond
 * that, Host and Connection, undici adds nothing at this level. Redirects are answers, codings are not undone. Rejects
 * only while there is no status: after it, whatever ends the body, be it the signal, is a cut answer.
 */
export function exchange(client: Client, target: Target, request: Exchange): Promise<Answer> {
  const { method, headers, body, mostAnswerBytes, signal } = request;
  return new Promise((resolve, reject) => {
    let head: Pick<Answer, 'status' | 'headers'> | undefined;
    let controller: Dispatcher.DispatchController | undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;
    const abort = () => {
      if (controller) controller.abort(signal.reason);
      else finish(signal.reason);
    };
    const finish = (error?: unknown) => {
      signal.removeEventListener('abort', abort);
      if (head === undefined) return reject(error);
      const whole = Buffer.concat(chunks);
      const isCut = error !== undefined || whole.length > mostAnswerBytes;
      resolve({ ...head, body: whole.subarray(0, mostAnswerBytes), isCut });
    };
    signal.addEventListener('abort', abort);
    if (signal.aborted) return finish(signal.reason);
    client.dispatch(
      {
        path: target.url.pathname + target.url.search,
        method: method as Dispatcher.HttpMethod,
        headers: headers.flat(),
        body,
      },
      {
        onRequestStart: (started) => {
          controller = started;
          if (signal.aborted) abort();
        },
        onResponseStart: (_, status, answered) => {
          // 1xx come before the answer, any number of them (RFC 9110, 15.2).
          if (status >= 200) head = { status, headers: answered };
        },
        onResponseData: (_, chunk) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes > mostAnswerBytes) controller?.abort(new Error('enough was read'));
        },
        onResponseEnd: () => finish(),
        onResponseError: (_, error) => finish(error),
      },
    );
  });
}
