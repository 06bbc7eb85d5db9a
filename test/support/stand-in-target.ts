import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createAddressPolicy } from '../../src/platform/address-policy.ts';
import { createGuardedFetch, type OutgoingRequest } from '../../src/platform/guarded-fetch.ts';
import { createNameLookup } from '../../src/platform/name-lookup.ts';

/** A public address that stand-in resolvers answer with; it is really 127.0.0.1. */
export const publicAddress = '93.184.216.34';

export type StandInTarget = {
  readonly port: number;
  /** Every request as it came, head and body. */
  readonly requests: string[];
  /** The servername of each TLS connection, '' for none; one entry a connection. */
  readonly connections: string[];
  close(): Promise<void>;
};

/** What a target does with a request: an answer's bytes, or its own way of writing to the socket. */
export type Answering = string | ((socket: Socket, request: string) => void);

export const okAnswer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A server on loopback that answers with exact bytes; with a certificate of test/data/tls it speaks TLS. */
export async function startTarget(
  answering: Answering = okAnswer,
  options: { certificate?: string; host?: string } = {},
): Promise<StandInTarget> {
  const requests: string[] = [];
  const connections: string[] = [];
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket & { servername?: string | false | null }) => {
    connections.push(socket.servername || '');
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!isWhole(text)) return;
      requests.push(text);
      if (typeof answering === 'string') socket.write(answering, 'latin1');
      else answering(socket, text);
      text = '';
    });
  };
  const server: Server = options.certificate
    ? createTlsServer({ cert: pem(options.certificate), key: pem('server.key') }, onConnection)
    : createServer(onConnection);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, options.host ?? '127.0.0.1', done));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((done) => server.close(() => done()));
  };
  return { port: (server.address() as AddressInfo).port, requests, connections, close };
}

/** A guarded fetch that trusts the tests' authority, over a resolver that answers as told and counts. */
export function standInFetch(
  records: Record<string, readonly string[]> | ((name: string) => Promise<readonly string[]>) = {},
  options: Partial<Parameters<typeof createGuardedFetch>[0]> = {},
) {
  const lookups: string[] = [];
  const lookup = createNameLookup(async (name) => {
    lookups.push(name);
    return typeof records === 'function' ? records(name) : (records[name] ?? []);
  });
  const asIf = new Map([[publicAddress, '127.0.0.1']]);
  const guarded = createGuardedFetch({
    policy: createAddressPolicy(),
    lookup,
    ca: pem('ca'),
    asIf,
    ...options,
  });
  const send = (url: string, request: Partial<OutgoingRequest> = {}) =>
    guarded.send({
      url,
      method: 'POST',
      headers: [],
      body: Buffer.from('{}'),
      deadlineMs: 2_000,
      ...request,
    });
  return { send, lookups, lookup, close: guarded.close };
}

export function pem(name: string): string {
  return readFileSync(new URL(`../data/tls/${name}.pem`, import.meta.url), 'utf8');
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  return end >= 0 && text.length >= end + 4 + length;
}
