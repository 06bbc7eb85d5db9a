import { createHmac } from 'node:crypto';
import { Agent, type ClientRequest, request } from 'node:http';
import type { Random } from './random.ts';

const answerWithinMs = 5_000;
const mostInFlight = 64;
/** With so many unacknowledged a provider would hold back too; it keeps this process small. */
const mostUnacknowledged = 3_000;
const tickMs = 20;

export type ProviderOptions = {
  readonly perSecond: number;
  readonly secret: string;
  /** Begins every event id. */
  readonly prefix: string;
  /** Ports of the gateways that are up; none is fine. */
  readonly ports: () => number[];
  readonly random: Random;
  /** The share of acknowledged events that is sent again on purpose. */
  readonly repeatShare: number;
};

/**
 * Behaves like a provider of webhooks: a steady rate over kept-alive connections, each event with an id of its own, signed
 * at the moment of sending; what was not answered 2xx (refused, cut, silent) is sent again under the same id until it is.
 */
export class Provider {
  readonly acknowledged = new Set<string>();
  /** Answers by status, and why there was none. */
  readonly answers = new Map<string, number>();
  events = 0;
  requests = 0;
  /** Acknowledged events that were sent again on purpose. */
  repeats = 0;
  readonly #options: ProviderOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: mostInFlight });
  readonly #ready: { id: string; tries: number }[] = [];
  #inFlight = 0;
  #made: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  get unacknowledged(): number {
    return this.events - this.acknowledged.size;
  }

  start(): void {
    let due = 0;
    this.#made = setInterval(() => {
      due = Math.min(due + (this.#options.perSecond * tickMs) / 1_000, mostInFlight);
      for (; due >= 1; due--) {
        if (this.unacknowledged >= mostUnacknowledged) continue;
        this.#ready.push({ id: `${this.#options.prefix}-${++this.events}`, tries: 0 });
      }
      this.#pump();
    }, tickMs);
  }

  /** No new events; those that are not acknowledged yet are sent on. */
  stopNew(): void {
    clearInterval(this.#made);
  }

  close(): void {
    this.stopNew();
    this.#isClosed = true;
    this.#agent.destroy();
  }

  #pump(): void {
    while (!this.#isClosed && this.#inFlight < mostInFlight) {
      const next = this.#ready.shift();
      if (next === undefined) return;
      const ports = this.#options.ports();
      if (ports.length === 0) this.#count('no gateway up', next);
      else this.#send(next, this.#options.random.pick(ports));
    }
  }

  #send(sent: { id: string; tries: number }, port: number): void {
    const body = JSON.stringify({ id: sent.id, note: 'x'.repeat(200) });
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', this.#options.secret).update(`${timestamp}.${body}`).digest('hex');
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      'X-Event-Id': sent.id,
      'X-Timestamp': timestamp,
      'X-Signature': signature,
    };
    this.#inFlight += 1;
    this.requests += 1;
    let isOver = false;
    const finish = (answer: string) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      this.#inFlight -= 1;
      this.#count(answer, sent);
      this.#pump();
    };
    const target = { host: '127.0.0.1', port, path: '/api/v1/webhooks/chaos', method: 'POST' };
    const attempt: ClientRequest = request({ ...target, headers, agent: this.#agent }, (response) => {
      response.resume();
      response.on('error', () => {});
      finish(String(response.statusCode));
    });
    const late = setTimeout(() => {
      finish('no answer in time');
      attempt.destroy();
    }, answerWithinMs);
    attempt.on('error', () => finish('connection cut'));
    attempt.end(body);
  }

  #count(answer: string, sent: { id: string; tries: number }): void {
    const { random, repeatShare } = this.#options;
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
    if (/^2\d\d$/.test(answer)) {
      this.acknowledged.add(sent.id);
      if (random.next() >= repeatShare) return;
      this.repeats += 1;
      this.#sendLater(sent, random.between(0, 3_000));
    } else if (!this.acknowledged.has(sent.id)) {
      const tries = sent.tries + 1;
      this.#sendLater({ ...sent, tries }, random.between(200, 500 * Math.min(tries, 4)));
    }
  }

  #sendLater(sent: { id: string; tries: number }, afterMs: number): void {
    setTimeout(() => {
      if (this.#isClosed) return;
      this.#ready.push(sent);
      this.#pump();
    }, afterMs);
  }
}
