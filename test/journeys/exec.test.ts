import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { isAlive } from '../support/file-handlers.ts';
import { Sender } from '../support/sender.ts';
import { Installation, type Server } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `
sources:
  github: { scheme: github, secretFile: secret }
handlers:
  - { name: deploy, source: github, exec: { command: [./deploy], env: { STAGE: test } } }
`;

/** The first run writes its family's ids and goes on for ever, deaf; once \`again\` is there, a run leaves its effect. */
const deploy = `#!/bin/sh
env > "env-$$"
if [ -e again ]; then cat "$WEBHOOK_PAYLOAD_FILE" >> effect; exit 0; fi
trap '' TERM
sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 0.1; done' &
until [ -s pids ]; do sleep 0.02; done
echo "$WEBHOOK_PAYLOAD_FILE" > file
echo $$ >> pids
wait
`;

let installation: Installation;
let running: Server | undefined;
let senders: Sender[] = [];

afterEach(async () => {
  for (const sender of senders) sender.close();
  senders = [];
  // A server that was killed leaves its PostgreSQL behind.
  const postmaster = installation.postmasterPid();
  await running?.stop();
  if (isAlive(postmaster)) process.kill(postmaster, 'SIGINT');
  await waitFor('PostgreSQL to stop', () => !isAlive(postmaster));
  await installation.remove();
});

/** A server in the middle of a command, and the processes in question. */
async function amidCommand(env: Record<string, string> = {}) {
  installation = new Installation(config, { deploy });
  chmodSync(at('deploy'), 0o755);
  const server = await installation.serve({ env });
  running = server;
  const sender = new Sender(server.port);
  senders.push(sender);
  expect((await sender.send('event-1', '{"n":1}')).status).toBe(200);
  await waitFor('the command to run', () => existsSync(at('pids')) && lines('pids').length === 2);
  const pids = lines('pids').map(Number);
  const [command = 0] = pids.filter((pid) => !pids.includes(parentOf(pid) as number));
  const worker = parentOf(parentOf(command) as number) as number;
  expect(parentOf(worker)).toBe(server.process.pid);
  return { server, pids, worker, file: lines('file')[0] as string };
}

const at = (name: string) => join(installation.folder, name);
const lines = (name: string) => readFileSync(at(name), 'utf8').trim().split('\n');

function parentOf(pid: number): number | undefined {
  const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
  return Number(/^PPid:\t(\d+)/m.exec(status)?.[1]) || undefined;
}

const gone = (pids: number[], withinMs: number) =>
  waitFor('the command to be gone', () => !pids.some(isAlive), { withinMs });

it('[IN-18] SIGKILL of the worker: its command and the body are gone, the run is tried again', async () => {
  const { server, pids, worker, file } = await amidCommand();
  writeFileSync(at('again'), '');
  process.kill(worker, 'SIGKILL');
  await gone(pids, 1_500);
  await waitFor('the body to be gone', () => !existsSync(file), { withinMs: 1_500 });
  await waitFor('the next try', () => existsSync(at('effect')) && lines('effect')[0] !== '');
  expect(lines('effect')).toEqual(['{"n":1}']);
  await waitFor('the run to end', () => server.logged('run.ended').some(({ outcome }) => outcome === 'done'));
  const pool = installation.pool();
  const { rows } = await pool.query('select outcome from posthorn.run_attempts order by n');
  await pool.end();
  expect(rows).toEqual([{ outcome: 'crashed' }, { outcome: 'done' }]);
});

it('[IN-18] SIGKILL of the whole server: its command and the body are gone; no secret reached the command', async () => {
  const { server, pids, file } = await amidCommand({ MARKER_SECRET: 'must-not-be-seen' });
  await server.kill('SIGKILL');
  await gone(pids, 2_000);
  await waitFor('the body to be gone', () => !existsSync(file), { withinMs: 2_000 });
  expect(readdirSync(join(installation.dataDir, 'exec'))).toEqual([]);
  const [name = ''] = readdirSync(installation.folder).filter((entry) => entry.startsWith('env-'));
  const names = lines(name).map((line) => line.split('=')[0] as string);
  const ours = ['PATH', 'HOME', 'LANG', 'TZ', 'STAGE'];
  const shells = ['PWD', 'OLDPWD', 'SHLVL', '_'];
  expect(names.filter((one) => !one.startsWith('WEBHOOK_') && ![...ours, ...shells].includes(one))).toEqual(
    [],
  );
  expect(readFileSync(at(name), 'utf8')).not.toContain('must-not-be-seen');
});

it('[IN-18] a worker that stands still keeps its channel open: its command is ended after 20 s, before the lease', async () => {
  const { server, pids, worker, file } = await amidCommand();
  const parent = server.process.pid as number;
  // The parent first: it would kill a worker that is silent for so long.
  process.kill(parent, 'SIGSTOP');
  process.kill(worker, 'SIGSTOP');
  const stoppedAt = performance.now();
  try {
    await gone(pids, 25_000);
    const tookMs = performance.now() - stoppedAt;
    expect(tookMs).toBeGreaterThan(18_000);
    expect(tookMs).toBeLessThan(22_500);
  } finally {
    process.kill(worker, 'SIGKILL');
    process.kill(parent, 'SIGKILL');
  }
  await server.exited;
  await waitFor('the body to be gone', () => !existsSync(file), { withinMs: 2_000 });
});
