import { isIP, connect as openTcp, type Socket } from 'node:net';
import { checkServerIdentity, connect as openTls, type SecureContext } from 'node:tls';
import { errors } from 'undici';
import type { Target } from './address-policy.ts';
import type { Budget } from './guarded-fetch-budget.ts';
import { connectionGone } from './guarded-fetch-exchange.ts';

/** More than this would let whoever owns a name have many hosts knocked at with one request. */
const mostAddresses = 8;

/**
 * Connects to one of the checked addresses, tried in turn; each gets its share of the time that is left, so that one
 * that swallows packets does not use up the others' time. `asIf` says where an address really is. Rejects with the
 * last address's error, or the first one that shows that a server was reached.
 */
export async function dialOneOf(
  addresses: readonly string[],
  target: Target,
  options: {
    budget: Budget;
    secureContext: SecureContext | undefined;
    asIf: ReadonlyMap<string, string> | undefined;
  },
): Promise<{ socket: Socket; address: string }> {
  const { budget, secureContext, asIf } = options;
  const tried = addresses.slice(0, mostAddresses);
  let last: unknown;
  for (const [at, address] of tried.entries()) {
    try {
      const timeoutMs = budget.restMs() / (tried.length - at);
      const host = asIf?.get(address) ?? address;
      const socket = await dial({ host, target, secureContext, timeoutMs, signal: budget.signal });
      return { socket, address };
    } catch (error) {
      if (budget.signal.aborted || failureOf(error) === 'tls') throw error;
      last = error;
    }
  }
  throw last;
}

/**
 * One word for what kept a connection or an exchange from succeeding. Codes of the system and of Node's streams are the
 * network's; the others are OpenSSL's for a certificate (CERT_HAS_EXPIRED) or a protocol (EPROTO). What undici finds
 * wrong by itself is the answer, but for an end of the connection.
 */
export function failureOf(error: unknown): 'timeout' | 'tls' | 'network' | 'closed' | 'no_http' {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'ETIMEDOUT') return 'timeout';
  if ([connectionGone, 'ECONNRESET', 'EPIPE'].includes(code) || message === 'other side closed')
    return 'closed';
  if (error instanceof errors.UndiciError || error instanceof errors.HTTPParserError) return 'no_http';
  const isOfNetwork = /^(E(?!PROTO)[A-Z0-9]+$|UND_ERR_|ERR_(?!TLS_|SSL_|OSSL_)|$)/.test(code);
  return isOfNetwork ? 'network' : 'tls';
}

/**
 * The address is a literal, so nothing is resolved here. The name of the target goes into SNI (an address may not:
 * RFC 6066, 3) and is what the certificate is checked for. Verifying is asked for by name, so that
 * NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off.
 */
function dial(options: {
  host: string;
  target: Target;
  secureContext: SecureContext | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Socket> {
  const { host, target, secureContext, timeoutMs, signal } = options;
  if (isIP(host) === 0) throw new Error('only addresses are connected to');
  const isSecure = target.url.protocol === 'https:';
  const port = Number(target.url.port || (isSecure ? 443 : 80));
  const socket = isSecure
    ? openTls({
        host,
        port,
        servername: isIP(target.host) === 0 ? target.host : '',
        checkServerIdentity: (_name, certificate) => checkServerIdentity(target.host, certificate),
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(secureContext ? { secureContext } : {}),
      })
    : openTcp({ host, port });
  socket.setNoDelay(true);
  return opened(socket, isSecure ? 'secureConnect' : 'connect', timeoutMs, signal);
}

function opened(socket: Socket, event: string, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const end = (error?: unknown) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      if (error === undefined) return resolve(socket);
      socket.destroy();
      reject(error);
    };
    const abort = () => end(signal.reason);
    const late = () => end(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(late, timeoutMs);
    signal.addEventListener('abort', abort);
    socket.once(event, () => end());
    socket.once('close', () => end(new Error('the connection was closed')));
    // Stays: an error without a listener would end the process.
    socket.on('error', end);
    if (signal.aborted) abort();
  });
}
