/**
 * A load generator in a process of its own: raw sockets and prepared requests, so that it takes as little as possible
 * of the two cores that it shares with the server under test. Plain JavaScript: it is measured too.
 *
 * Takes one order from its parent over IPC, sends for a bounded time, answers with a report, ends.
 *
 * @typedef {{ port: number, path: string, connections: number, seconds: number, warmupSeconds?: number,
 *   bodies: string[], secret: string, rate?: number, polling?: boolean }} LoadOrder bodies in base64, sent in turn; rate in requests a
 *   second over all connections, none = as fast as answers come
 * @typedef {{ requests: number, perSecond: number, failed: number, p50Ms: number, p99Ms: number, maxMs: number }} LoadReport
 */
import { createHmac, randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const idLength = 36;

process.once('message', async (/** @type {LoadOrder} */ order) => {
  process.send?.(await run(order), () => process.exit(0));
});
process.on('disconnect', () => process.exit(0));

/** @param {LoadOrder} order */
async function run(order) {
  const state = {
    requests: prepare(order),
    session: randomBytes(8).toString('hex'),
    warmUntil: performance.now() + (order.warmupSeconds ?? 2) * 1000,
    until: 0,
    interval: order.rate === undefined ? 0 : (1000 * order.connections) / order.rate,
    latencies: /** @type {number[]} */ ([]),
    sent: 0,
    failed: 0,
  };
  state.until = state.warmUntil + order.seconds * 1000;
  if (order.polling) pollInsteadOfWaking(state);
  await Promise.all(Array.from({ length: order.connections }, (_, index) => connection(order, state, index)));
  const sorted = Float64Array.from(state.latencies).sort();
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    perSecond: Math.round(sorted.length / order.seconds),
    failed: state.failed,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}

/**
 * Sleeps between looks at the sockets instead of waiting at them. On one machine every answer otherwise wakes this
 * process, and the server pays for the wake, as no server does for clients elsewhere. Adds up to 0.25 ms to a latency,
 * alike for every contender.
 */
function pollInsteadOfWaking(/** @type {{ until: number }} */ state) {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const look = () => {
    Atomics.wait(pause, 0, 0, 0.25);
    if (performance.now() < state.until + 100) setImmediate(look);
  };
  setImmediate(look);
}

/** One prepared request a body; the bytes of the delivery id are overwritten for each sending. */
function prepare(/** @type {LoadOrder} */ order) {
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

/** One kept-alive connection with one request at a time; a server that closes it after an answer gets a new one. */
function connection(/** @type {LoadOrder} */ order, state, /** @type {number} */ index) {
  return new Promise((resolve) => {
    const copies = state.requests.map(({ bytes, idAt }) => ({ bytes: Buffer.from(bytes), idAt }));
    let dueAt = performance.now() + (state.interval * index) / order.connections;
    const open = () => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
      let startedAt = 0;
      let received = '';
      const send = () => {
        const now = performance.now();
        if (now >= state.until) {
          socket.destroy();
          resolve(undefined);
          return;
        }
        // A paced request counts from when it was due: a stalled server must not slow its own measurement.
        startedAt = state.interval > 0 ? dueAt : now;
        dueAt += state.interval;
        const { bytes, idAt } = copies[state.sent % copies.length];
        bytes.write(state.session + String(state.sent++).padStart(idLength - 16, '0'), idAt, 'latin1');
        socket.write(bytes);
      };
      const next = () => {
        const pause = dueAt - performance.now();
        if (state.interval > 0 && pause > 0) setTimeout(send, pause);
        else send();
      };
      socket.on('connect', next);
      socket.on('data', (chunk) => {
        received += chunk.latin1Slice();
        if (!received.includes('\r\n\r\n')) return;
        const now = performance.now();
        if (startedAt >= state.warmUntil) {
          state.latencies.push(now - startedAt);
          if (!received.startsWith('HTTP/1.1 200')) state.failed++;
        }
        const isLast = /\r\nconnection: close/i.test(received);
        received = '';
        if (!isLast) return next();
        socket.destroy();
        open();
      });
      socket.on('error', () => {
        state.failed++;
        socket.destroy();
        if (performance.now() < state.until) setTimeout(open, 20);
        else resolve(undefined);
      });
    };
    open();
  });
}
