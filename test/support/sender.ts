import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { testSecret } from './gateway.ts';

/** What became of one sent webhook: its status, or why there was no answer. */
export type Sent = { readonly id: string; readonly status: number | 'no answer'; readonly tookMs: number };

/** Sends signed GitHub webhooks over kept-alive connections, as many at once as `concurrency`, and keeps the ledger. */
export class Sender {
  readonly ledger: Sent[] = [];
  readonly #port: number;
  readonly #agent: Agent;

  constructor(port: number, concurrency = 32) {
    this.#port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  }

  /** Never rejects: no answer is an outcome. */
  send(id: string, body = `{"id":"${id}"}`, type = 'push'): Promise<Sent> {
    const started = performance.now();
    const headers = {
      'X-GitHub-Event': type,
      'X-GitHub-Delivery': id,
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', testSecret).update(body).digest('hex')}`,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
    };
    return new Promise((resolve) => {
      const finish = (status: number | 'no answer') => {
        const sent = { id, status, tookMs: performance.now() - started };
        this.ledger.push(sent);
        resolve(sent);
      };
      const options = {
        host: '127.0.0.1',
        port: this.#port,
        path: '/api/v1/webhooks/github',
        method: 'POST',
        agent: this.#agent,
        headers,
      };
      const sent = request(options, (response) => {
        response.resume();
        response.on('end', () => finish(response.statusCode ?? 'no answer'));
        response.on('error', () => finish('no answer'));
      });
      sent.on('error', () => finish('no answer'));
      sent.end(body);
    });
  }

  /** Sends ids in order with bounded concurrency; `until` can end it early. */
  async sendMany(
    ids: readonly string[],
    { concurrency = 32, until = () => false }: { concurrency?: number; until?: () => boolean } = {},
  ): Promise<void> {
    let next = 0;
    const one = async () => {
      while (next < ids.length && !until()) await this.send(ids[next++] as string);
    };
    await Promise.all(Array.from({ length: concurrency }, one));
  }

  acknowledged(): string[] {
    return this.ledger.filter(({ status }) => status === 200).map(({ id }) => id);
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
