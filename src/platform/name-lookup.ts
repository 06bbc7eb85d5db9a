import { Resolver } from 'node:dns/promises';
import { setMaxListeners } from 'node:events';
import { createHostsFile, systemHostsFile } from './hosts-file.ts';

/** Gives all addresses of a name, an empty list where it has none. May reject. `signal` asks it to give up. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export type NameLookup = {
  /** Joins a look-up of this name that is under way. Rejects with the reason of `signal` when that fires first. */
  find(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Ends what is under way; those who wait for it are rejected. The lookup can be used again. */
  cancel(): void;
};

/**
 * Look-ups of names, at most one of a name at a time (EGR-9). A look-up goes on after those who waited for it gave up,
 * until its resolver ends it, so that a slow name server is asked once and its answer helps the next attempt.
 * Nothing is remembered after that: who may be connected to is judged on a fresh answer each time. One of these is
 * shared by everything that sends.
 */
export function createNameLookup(resolve: Resolve = createSystemResolve()): NameLookup {
  const outstanding = new Map<string, Promise<readonly string[]>>();
  let life = newLife();
  const start = (name: string) => {
    const found = cut(resolve(name, life.signal), life.signal).finally(() => {
      if (outstanding.get(name) === found) outstanding.delete(name);
    });
    // Whoever waited may be gone by now, and a rejection that nobody sees would end the process.
    found.catch(() => undefined);
    outstanding.set(name, found);
    return found;
  };
  return {
    find: (name, signal) => cut(outstanding.get(name) ?? start(name), signal),
    cancel: () => {
      life.abort(new Error('the look-up was cancelled'));
      outstanding.clear();
      life = newLife();
    },
  };
}

/**
 * The hosts file first, then the name servers of the system through c-ares: that has time-outs of its own, can be
 * cancelled, and takes no thread of the pool, of which four hanging names would take all. `servers`, such as
 * `127.0.0.1:5353`, are asked instead of the system's.
 */
export function createSystemResolve(
  options: { hostsFile?: string; servers?: readonly string[] } = {},
): Resolve {
  const addressesInFile = createHostsFile(options.hostsFile ?? systemHostsFile);
  return async (name, signal) => {
    const known = await addressesInFile(name);
    return known.length > 0 ? known : askServers(name, signal, options.servers);
  };
}

/** Two tries of each server, 2 s and then 4 s: one try again fits into a delivery's budget of 10 s. */
const serverTimeoutMs = 2_000;
const triesOfServer = 2;

/**
 * A resolver for each look-up, as it reads the system's configuration when it is made (30 microseconds) and cancels all
 * of its queries at once. If only one family answers, what it says is used: all of it is judged, and nothing else is
 * connected to.
 */
async function askServers(name: string, signal: AbortSignal, servers?: readonly string[]): Promise<string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: serverTimeoutMs, tries: triesOfServer });
  if (servers) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.throwIfAborted();
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Each look-up under way listens to it; Node takes more than ten listeners for a leak. */
function newLife(): AbortController {
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  return life;
}

/** The promise, or a rejection as soon as the signal fires. */
function cut<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
