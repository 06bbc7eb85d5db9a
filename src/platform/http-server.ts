import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { AppError } from '../core/errors.ts';
import type { Log } from './log.ts';

export type HttpLimits = {
  readonly keepAliveMs: number;
  readonly maxConnections: number;
};

export type HttpListener = {
  readonly app: FastifyInstance;
  /** Starts to listen; gives the port, which the system chose where 0 was asked for. Throws PORT_UNAVAILABLE. */
  listen(host: string, port: number): Promise<number>;
  /** Stops to accept, lets requests in flight end for at most `graceMs`, then cuts. Twice is fine. */
  close(graceMs: number): Promise<void>;
};

/** EDGE-1 and EDGE-2; the sources of the numbers are there. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const mostHeaders = 128;
const mostHeaderBytes = 16 * 1024;
const mostRequestsPerSocket = 10_000;

/**
 * An HTTP listener with bounded time, connections and headers. `front` sees each request first and may take it,
 * before the framework could answer for it; what it leaves goes to the framework's routes. Every refusal of this
 * layer is an empty answer.
 */
export function createHttpListener(options: {
  name: string;
  limits: HttpLimits;
  log: Log;
  front?: (request: IncomingMessage, response: ServerResponse) => boolean;
}): HttpListener {
  const front = options.front ?? (() => false);
  const answering = new WeakMap<Socket, ServerResponse>();
  let server: Server | undefined;
  const app = Fastify({
    serverFactory: (handler) => {
      server = createBoundedServer(options.limits, (request, response) => {
        answering.set(request.socket, response);
        const refusal = refusalOf(request);
        if (refusal !== undefined) return refuse(response, refusal);
        if (!front(request, response)) handler(request, response);
      });
      return server;
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, answering.get(socket)),
    frameworkErrors: (_error, _request, reply) =>
      void reply.raw.writeHead(404, { 'Content-Length': '0' }).end(),
    routerOptions: { onBadUrl: (_path, _request, response) => refuse(response as ServerResponse, 404) },
    forceCloseConnections: false,
  });
  // No route reads a body unless it brings a parser: a body that cannot be parsed must not change an answer.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send());
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) {
      options.log.error(
        { event: 'request.failed', listener: options.name, reason: error.message },
        'a request failed',
      );
    }
    return reply.code(status).send();
  });
  return {
    app,
    listen: async (host, port) => {
      await app.ready();
      return startListening(server as Server, host, port);
    },
    close: (graceMs) => closeGently(server, app, graceMs),
  };
}

function createBoundedServer(
  limits: HttpLimits,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: mostHeaderBytes,
      noDelay: true,
    },
    handle,
  );
  // Node drops headers past this in silence, so it counts none of them and refusalOf counts all.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = mostRequestsPerSocket;
  server.maxConnections = limits.maxConnections;
  return server;
}

/** What no route may see: too many headers, or a transfer coding that Node would pass on undecoded. */
function refusalOf(request: IncomingMessage): number | undefined {
  if (request.rawHeaders.length > 2 * mostHeaders) return 431;
  const coding = request.headers['transfer-encoding'];
  return coding !== undefined && coding.toLowerCase() !== 'chunked' ? 400 : undefined;
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': '0', Connection: 'close' });
  response.end();
}

/** Bytes that are no request, or that came too slowly. Written by hand: there is no response object for them. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, response?: ServerResponse): void {
  const status = brokenRequestStatus[error.code ?? ''] ?? 400;
  const halfAnswered = response?.headersSent === true && !response.writableFinished;
  if (socket.writable && !halfAnswered && error.code !== 'ECONNRESET') {
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  }
  socket.destroySoon();
}

const brokenRequestStatus: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function startListening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program uses it' : cause.message;
      reject(
        new AppError(
          'PORT_UNAVAILABLE',
          `Cannot listen on ${host}:${port}: ${why}. Choose another port (0 takes any free one).`,
          { cause },
        ),
      );
    });
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port));
  });
}

async function closeGently(server: Server | undefined, app: FastifyInstance, graceMs: number): Promise<void> {
  const cut = setTimeout(() => server?.closeAllConnections(), graceMs);
  if (server?.listening) {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    await closed;
  }
  clearTimeout(cut);
  await app.close();
}
