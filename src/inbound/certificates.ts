import type { KeyObject } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { GuardedFetch } from '../platform/guarded-fetch.ts';
import type { Log } from '../platform/log.ts';
import { judgeCertificate } from './certificate-chain.ts';

const fetchMs = 2_000;
/** A certificate in use is fetched again in the background this long after it was fetched; until then it holds. */
const refreshAfterMs = 12 * 3_600_000;
const keptMs = 7 * 86_400_000;
/** What could not be had is not asked for again at once. */
const forgetFailureMs = 60_000;
const mostKept = 50;
const mostUnderWay = 4;
const mostBytes = 64 * 1024;

type Kept = { readonly key: KeyObject; readonly fetchedAt: number; readonly until: number };

/**
 * The certificates of senders that sign with one (AWS SNS, PayPal). The URL comes from a request that nobody has verified
 * yet; the scheme has judged that it lies at the sender's own host. A certificate that is known is used at once; one that is
 * not is fetched once for all who wait, within two seconds. Everything here is bounded, since a stranger can name URLs.
 */
export class Certificates {
  readonly #fetch: GuardedFetch;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #roots: readonly string[] | undefined;
  readonly #kept = new Map<string, Kept>();
  readonly #failedAt = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<KeyObject | undefined>>();

  /** `roots` are PEM texts of authorities to trust in place of the usual ones. */
  constructor(deps: { fetch: GuardedFetch; clock: Clock; log: Log; roots?: readonly string[] }) {
    this.#fetch = deps.fetch;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#roots = deps.roots;
  }

  /** The public key of the certificate, or undefined where it cannot be had now: the sender should come back. */
  async keyOf(url: string): Promise<KeyObject | undefined> {
    const now = this.#clock.now();
    const kept = this.#kept.get(url);
    if (kept !== undefined && now < kept.until) {
      if (now - kept.fetchedAt > refreshAfterMs) void this.#load(url);
      return kept.key;
    }
    return this.#load(url);
  }

  close(): void {
    this.#fetch.close();
  }

  #load(url: string): Promise<KeyObject | undefined> {
    const underWay = this.#underWay.get(url);
    if (underWay !== undefined) return underWay;
    const failedAt = this.#failedAt.get(url);
    const isTooSoon = failedAt !== undefined && this.#clock.now() - failedAt < forgetFailureMs;
    if (isTooSoon || this.#underWay.size >= mostUnderWay) return Promise.resolve(undefined);
    const loading = this.#download(url).finally(() => this.#underWay.delete(url));
    this.#underWay.set(url, loading);
    return loading;
  }

  async #download(url: string): Promise<KeyObject | undefined> {
    const sent = await this.#fetch.send({
      url,
      method: 'GET',
      headers: [['user-agent', 'posthorn']],
      body: Buffer.alloc(0),
      deadlineMs: fetchMs,
      mostAnswerBytes: mostBytes,
    });
    const problem = sent.ok ? (sent.status === 200 ? undefined : `answered ${sent.status}`) : sent.reason;
    if (!sent.ok || problem !== undefined) return this.#fail(url, `it could not be fetched (${problem})`);
    const judged = judgeCertificate(sent.body.toString('latin1'), {
      url,
      now: this.#clock.now(),
      ...(this.#roots === undefined ? {} : { roots: this.#roots }),
    });
    if ('problem' in judged) return this.#fail(url, judged.problem);
    const fetchedAt = this.#clock.now();
    forgetOldest(this.#kept, mostKept);
    this.#kept.set(url, {
      key: judged.key,
      fetchedAt,
      until: Math.min(judged.validUntil, fetchedAt + keptMs),
    });
    return judged.key;
  }

  #fail(url: string, problem: string): undefined {
    forgetOldest(this.#failedAt, mostKept);
    this.#failedAt.set(url, this.#clock.now());
    this.#log.warn(
      { event: 'certificate.refused', host: new URL(url).host },
      `the certificate of a sender cannot be used: ${problem}`,
    );
    return undefined;
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size >= most && oldest !== undefined) map.delete(oldest);
}
