import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSourceKeys, type Journal, JournalWriter } from '../../src/inbound/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createPool } from '../../src/platform/db.ts';
import { createEncryption } from '../../src/platform/encryption.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { configurationSchema } from '../../src/run/configuration.ts';
import { createGateway, type GatewayDeps } from '../../src/run/gateway.ts';
import { quietLog, type TestDatabase } from './database.ts';

export const testSecret = 'a-secret-of-the-tests-0123456789';

export type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

export type TestGateway = {
  readonly port: number;
  readonly writer: JournalWriter;
  /** Sends a request; by default a signed GitHub push with a new id. */
  send(options?: SendOptions): Promise<Answer>;
  close(): Promise<void>;
};

export type SendOptions = {
  source?: string;
  method?: string;
  id?: string | null;
  body?: string | Buffer;
  secret?: string;
  /** Added to the signed request's own; null leaves one out. */
  headers?: Record<string, string | string[] | null>;
  query?: string;
};

/** A gateway in this process over a test database, on a port of its own; its secrets are files in a temporary folder. */
export async function startGateway(
  database: TestDatabase,
  options: {
    config?: object;
    journal?: Journal;
    answerDeadlineMs?: number;
    /** What is handed to createGateway besides. */
    gateway?: Partial<GatewayDeps>;
  } = {},
): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-gateway-'));
  writeFileSync(join(folder, 'secret'), testSecret, { mode: 0o600 });
  const configuration = configurationSchema.parse({
    sources: { github: { scheme: 'github', secretFile: 'secret' } },
    ...options.config,
  });
  const answerDeadlineMs = options.answerDeadlineMs ?? 2_500;
  const pool = createPool({
    address: database.address,
    name: 'ingest',
    most: 3,
    log: quietLog,
    queryTimeoutMs: answerDeadlineMs,
  });
  const writer = new JournalWriter({ pool, log: quietLog, answerDeadlineMs, named: true });
  const keys = createSourceKeys(configuration.sources, { folder, dataDir: folder, log: quietLog });
  const gateway = await createGateway({
    sources: configuration.sources,
    group: configuration.inbound,
    http: configuration.http,
    keys,
    pool,
    clock: systemClock,
    journal: options.journal ?? writer,
    log: quietLog,
    metrics: createMetrics(),
    encryption: createEncryption(join(folder, 'keys'), { mayMake: true }),
    ...options.gateway,
  });
  const port = await gateway.listen('127.0.0.1', 0);
  return {
    port,
    writer,
    send: (send = {}) => sendWebhook(port, send),
    close: async () => {
      await gateway.close(500);
      await gateway.stop();
      await writer.drain();
      await pool.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What leaves out of `send` the headers of GitHub, for a request of another sender. */
export const withoutGithub = {
  'X-GitHub-Event': null,
  'X-GitHub-Delivery': null,
  'X-Hub-Signature-256': null,
};

export function sendWebhook(port: number, options: SendOptions = {}): Promise<Answer> {
  const body = Buffer.from(options.body ?? '{"ref":"refs/heads/main"}');
  const signature = createHmac('sha256', options.secret ?? testSecret)
    .update(body)
    .digest('hex');
  const headers: Record<string, string | string[]> = {};
  const given: Record<string, string | string[] | null> = {
    'X-GitHub-Event': 'push',
    'X-GitHub-Delivery': options.id === undefined ? randomUUID() : options.id,
    'X-Hub-Signature-256': `sha256=${signature}`,
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    ...options.headers,
  };
  for (const [name, value] of Object.entries(given)) if (value !== null) headers[name] = value;
  const path = `/api/v1/webhooks/${options.source ?? 'github'}${options.query ?? ''}`;
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path, method: options.method ?? 'POST', headers, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
