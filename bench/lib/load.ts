/**
 * A load generator in a process of its own: raw sockets and prepared requests, so that it takes as little as
 * possible of the two cores that the server under test shares with it.
 *
 * Reads a LoadOrder from its parent over IPC, sends for a bounded time, answers with a LoadReport, ends.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export type LoadOrder = {
  port: number;
  path: string;
  connections: number;
  seconds: number;
  /** Bodies to send in turn, base64. */
  bodies: string[];
  secret: string;
  /** Requests a second over all connections; none = as fast as answers come. */
  rate?: number;
  warmupSeconds?: number;
};

export type LoadReport = {
  requests: number;
  perSecond: number;
  failed: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

const idLength = 36;

/** One prepared request per body; the 36 bytes of the delivery id are overwritten for each sending. */
function prepare(order: LoadOrder): { bytes: Buffer; idAt: number }[] {
  return order.bodies.map((base64) => {
    const body = Buffer.from(base64, 'base64');
    const signature = createHmac('sha256', order.secret).update(body).digest('hex');
    const head = [
      `POST ${order.path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'User-Agent: GitHub-Hookshot/044aadd',
      'Accept: */*',
      'Content-Type: application/json',
      'X-GitHub-Event: push',
      'X-GitHub-Hook-ID: 292430182',
      'X-GitHub-Hook-Installation-Target-ID: 79929171',
      'X-GitHub-Hook-Installation-Target-Type: repository',
      `X-GitHub-Delivery: ${'-'.repeat(idLength)}`,
      `X-Hub-Signature-256: sha256=${signature}`,
      `Content-Length: ${body.length}`,
      '',
      '',
    ].join('\r\n');
    const idAt = head.indexOf('X-GitHub-Delivery: ') + 'X-GitHub-Delivery: '.length;
    return { bytes: Buffer.concat([Buffer.from(head), body]), idAt };
  });
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const requests = prepare(order);
  const session = randomBytes(8).toString('hex');
  const warmUntil = performance.now() + (order.warmupSeconds ?? 2) * 1000;
  const until = warmUntil + order.seconds * 1000;
  const latencies: number[] = [];
  let failed = 0;
  let sent = 0;
  let counted = 0;
  const sockets: Socket[] = [];
  const interval = order.rate === undefined ? 0 : (1000 * order.connections) / order.rate;

  const oneConnection = (index: number) =>
    new Promise<void>((resolve) => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
      sockets.push(socket);
      let startedAt = 0;
      let dueAt = performance.now() + (interval * index) / order.connections;
      let waiting = '';
      const copies = requests.map(({ bytes, idAt }) => ({ bytes: Buffer.from(bytes), idAt }));
      const send = () => {
        const now = performance.now();
        if (now >= until) {
          socket.end();
          return;
        }
        // A paced request counts from when it was due: a stalled server must not slow its own measurement.
        startedAt = interval > 0 ? dueAt : now;
        dueAt += interval;
        const request = copies[sent % copies.length] as { bytes: Buffer; idAt: number };
        request.bytes.write(
          `${session}${String(sent++).padStart(idLength - 16, '0')}`,
          request.idAt,
          'latin1',
        );
        socket.write(request.bytes);
      };
      const next = () => {
        const pause = dueAt - performance.now();
        if (interval > 0 && pause > 0) setTimeout(send, pause);
        else send();
      };
      socket.on('connect', next);
      socket.on('data', (chunk) => {
        waiting += chunk.toString('latin1');
        if (!waiting.endsWith('\r\n\r\n')) return;
        const now = performance.now();
        if (startedAt >= warmUntil) {
          counted++;
          latencies.push(now - startedAt);
          if (!waiting.startsWith('HTTP/1.1 200')) failed++;
        }
        waiting = '';
        next();
      });
      socket.on('error', () => {
        failed++;
        resolve();
      });
      socket.on('close', () => resolve());
    });

  await Promise.all(Array.from({ length: order.connections }, (_, index) => oneConnection(index)));
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    requests: counted,
    perSecond: Math.round(counted / order.seconds),
    failed,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

process.once('message', async (order) => {
  const report = await run(order as LoadOrder);
  process.send?.(report, () => process.exit(0));
});
