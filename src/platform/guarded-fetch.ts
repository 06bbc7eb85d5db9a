import { createSecureContext, rootCertificates } from 'node:tls';
import type { SendFailure } from '../core/outcome.ts';
import { type AddressPolicy, addressesProblem, judgeTarget, type Target } from './address-policy.ts';
import { type Budget, startBudget } from './guarded-fetch-budget.ts';
import { dialOneOf, failureOf } from './guarded-fetch-dial.ts';
import {
  type Answer,
  connectionGone,
  createClient,
  type Exchange,
  exchange,
} from './guarded-fetch-exchange.ts';
import { type Connection, createPool, discard } from './guarded-fetch-pool.ts';
import type { NameLookup } from './name-lookup.ts';
import { headerProblem } from './outgoing-headers.ts';

export type OutgoingRequest = {
  readonly url: string;
  readonly method: string;
  /** In the order and spelling in which they are sent; none that `headerProblem` refuses. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** For everything: look-up, connecting, sending, and reading the answer. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
  /** How much of the answer's body is kept; when there is more, the connection is closed. */
  readonly mostAnswerBytes?: number;
};

export type SendResult =
  | ({ readonly ok: true } & Answer)
  | { readonly ok: false; readonly reason: SendFailure };

export type GuardedFetch = {
  /** Sends one request. `ok` means that there was an answer, whatever its status. Throws on a forbidden header. */
  send(request: OutgoingRequest): Promise<SendResult>;
  /** Aborts what is under way and closes all connections; a later `send` is `aborted`. Twice is fine. */
  close(): void;
};

/**
 * The only way out for requests whose target a configuration, a user or a payload names. What it connects to is an
 * address that was judged in this very call, never a name (EGR-2, EGR-3); redirects are not followed and proxy
 * variables are ignored (EGR-8); a failure is one word, so that nobody can scan a network with it (EGR-11).
 *
 * One of these has one policy and its own connections: each subscription or handler gets its own. `lookup` is shared
 * by all. `ca` is PEM text of authorities to trust besides the usual ones. `asIf` maps a judged address to where it
 * really is: for tests, which cannot serve from public addresses.
 */
export function createGuardedFetch(options: {
  policy: AddressPolicy;
  lookup: NameLookup;
  ca?: string;
  asIf?: ReadonlyMap<string, string>;
}): GuardedFetch {
  const { policy, lookup, ca, asIf } = options;
  const secureContext = ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
  const pool = createPool();
  const life = new AbortController();

  const send = async (request: OutgoingRequest): Promise<SendResult> => {
    refuseForbiddenHeaders(request);
    const judged = judgeTarget(request.url, policy);
    if ('problem' in judged) return failed('blocked');
    const { target } = judged;
    const budget = startBudget(request.deadlineMs, [request.signal, life.signal]);
    try {
      const addresses = target.addresses ?? (await lookup.find(target.host, budget.signal));
      if (addressesProblem(target, addresses, policy)) return failed('blocked');
      if (addresses.length === 0) return failed('network');
      return { ok: true, ...(await sendToOneOf(addresses, target, request, budget)) };
    } catch (error) {
      return failed(budget.signal.aborted ? budget.reason() : failureOf(error));
    } finally {
      budget.end();
    }
  };

  /**
   * Over a kept connection if there is one. A server may close it in the instant in which it is used (RFC 9112, 9.3.1),
   * so a request that finds it closed goes again over a new one: what is sent here has an id and may arrive twice.
   */
  const sendToOneOf = async (
    addresses: readonly string[],
    target: Target,
    request: OutgoingRequest,
    budget: Budget,
  ): Promise<Answer> => {
    const bounded = { mostAnswerBytes: 4_096, ...request, signal: budget.signal };
    const keys = addresses.map((address) => keyOf(target, address));
    const kept = pool.take(keys);
    const answer = kept && (await sendOver(kept, target, bounded).catch(unlessClosed));
    if (answer !== undefined) return answer;
    const { socket, address } = await dialOneOf(addresses, target, { budget, secureContext, asIf });
    const client = createClient(target, socket);
    return sendOver({ key: keyOf(target, address), client, socket }, target, bounded);
  };

  /** Only a connection whose answer was read to its end can carry another one. */
  const sendOver = async (connection: Connection, target: Target, request: Exchange): Promise<Answer> => {
    let answer: Answer | undefined;
    try {
      answer = await exchange(connection.client, target, request);
      return answer;
    } finally {
      if (answer === undefined || answer.isCut || life.signal.aborted) discard(connection);
      else pool.give(connection);
    }
  };

  return {
    send,
    close: () => {
      life.abort();
      pool.close();
    },
  };
}

/** Configuration refuses them with a sentence; one that comes this far is a mistake of the caller. */
function refuseForbiddenHeaders({ headers }: OutgoingRequest): void {
  for (const [name, value] of headers) {
    const problem = headerProblem(name, value);
    if (problem !== undefined) throw new TypeError(`the header ${JSON.stringify(name)} ${problem}`);
  }
}

function failed(reason: SendFailure): SendResult {
  return { ok: false, reason };
}

function unlessClosed(error: NodeJS.ErrnoException): undefined {
  if (!closedCodes.has(error.code ?? '')) throw error;
}

const closedCodes = new Set([connectionGone, 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function keyOf(target: Target, address: string): string {
  return `${target.url.origin} ${address}`;
}
