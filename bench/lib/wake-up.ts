import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { benchSecret } from './contender.ts';
import { install, type Stack, startStack } from './stack.ts';
import { startPostgres } from './stores.ts';

/** CLOCK_MONOTONIC is the same for all processes of a machine. */
const startsFile = 'starts.txt';
const handlers = `import { appendFileSync } from 'node:fs';
export default (on) => {
  on('github', '*', (event) => appendFileSync(new URL('./${startsFile}', import.meta.url), event.eventId + ' ' + process.hrtime.bigint() + '\\n'));
};`;

/** One webhook at a time with pauses; gateway and worker in one server (woken over IPC), then in two (by NOTIFY). */
export async function measureWake({
  seconds,
}: {
  seconds: number;
}): Promise<Record<string, string | number>[]> {
  const postgres = await startPostgres();
  const rows: Record<string, string | number>[] = [];
  for (const [what, split] of [
    ['one server: woken over IPC', false],
    ['two servers: woken by NOTIFY', true],
  ] as const) {
    await postgres.reset();
    const installation = install(handlers);
    const url = postgres.url;
    const stacks = split
      ? [
          await startStack(installation, { url, roles: ['gateway'] }),
          await startStack(installation, { url, roles: ['worker'] }),
        ]
      : [await startStack(installation, { url, roles: ['gateway', 'worker'] })];
    const answered = await sendOneByOne((stacks[0] as Stack).port, Math.round(10 * seconds));
    await wait(1_500);
    for (const stack of stacks) await stack.stop();
    const starts = readFileSync(join(installation.folder, startsFile), 'utf8').trim().split('\n');
    installation.remove();
    const waits = starts
      .map((line) => line.split(' ') as [string, string])
      .map(([id, at]) => Number(BigInt(at) - (answered.get(id) as bigint)) / 1e6)
      .sort((a, b) => a - b);
    if (waits.length !== answered.size)
      throw new Error(`${waits.length} starts of ${answered.size} webhooks`);
    const at = (share: number) => (waits[Math.floor(waits.length * share)] as number).toFixed(1);
    rows.push({ what, webhooks: waits.length, 'p50 ms': at(0.5), 'p90 ms': at(0.9), 'p99 ms': at(0.99) });
  }
  await postgres.stop();
  return rows;
}

/** Gives when each id was answered. */
async function sendOneByOne(port: number, count: number): Promise<Map<string, bigint>> {
  const agent = new Agent({ keepAlive: true });
  const answered = new Map<string, bigint>();
  for (let sent = 0; sent < count; sent++) {
    const id = randomUUID();
    await send(port, id, agent);
    answered.set(id, process.hrtime.bigint());
    await wait(60 + Math.random() * 80);
  }
  agent.destroy();
  return answered;
}

function send(port: number, id: string, agent: Agent): Promise<void> {
  const body = JSON.stringify({ id });
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${createHmac('sha256', benchSecret).update(body).digest('hex')}`,
  };
  const options = {
    host: '127.0.0.1',
    port,
    path: '/api/v1/webhooks/github',
    method: 'POST',
    agent,
    headers,
  };
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      response.resume();
      if (response.statusCode !== 200) reject(new Error(`a webhook was answered ${response.statusCode}`));
      response.once('end', resolve);
    })
      .once('error', reject)
      .end(body);
  });
}
