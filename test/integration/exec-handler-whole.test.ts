import { existsSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Commands, sweepCommandFolders } from '../../src/platform/commands/index.ts';
import { isAlive, useFileHandlers } from '../support/file-handlers.ts';
import { waitFor } from '../support/wait-for.ts';
import { useWorkers } from '../support/worker.ts';

const { clock, journal, start, query, runs } = useWorkers();
const { make, script, path, read, written, dataDir, bodies, stopAll } = useFileHandlers(clock);

const attempts = async () =>
  (await query('select outcome, error, output from posthorn.run_attempts order by ended_at, n')).rows;

/** Writes the ids of itself, a child and a grandchild, all deaf to SIGTERM, into `pids`. */
const family = `
trap '' TERM
sh -c 'trap "" TERM; sh -c "trap \\"\\" TERM; echo \\$\\$ >> pids; while :; do sleep 0.1; done" & echo $$ >> pids; while :; do sleep 0.1; done' &
until [ "$(cat pids 2> /dev/null | wc -l)" = 2 ]; do sleep 0.02; done
echo $$ >> pids
`;

async function familyPids(): Promise<string[]> {
  await waitFor(
    'the family to live',
    () => existsSync(path('pids')) && read('pids').split('\n').length === 4,
  );
  return read('pids').trim().split('\n');
}

const allGone = (pids: string[]) =>
  waitFor(`${pids} to be gone`, () => pids.every((pid) => !isAlive(pid)), { withinMs: 3_000 });

/** The process whose working folder is below the data directory. */
function shimPid(): number {
  const place = (pid: string) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`);
    } catch {
      return '';
    }
  };
  return Number(readdirSync('/proc').find((pid) => place(pid).startsWith(join(dataDir(), 'exec'))));
}

it('[IN-18] the time-out ends everything that a command started, deaf or not, and keeps the output so far', async () => {
  await journal([{}]);
  const worker = await start(await script(`${family}echo so far; wait`, { timeoutMs: 1_000 }));
  await worker.round();
  const pids = await familyPids();
  await worker.idle();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(await attempts()).toEqual([
    { outcome: 'timed_out', error: 'the command took longer than 1000 ms', output: 'so far\n' },
  ]);
});

it('[IN-18] a command that ends politely at its time-out is not waited for any longer', async () => {
  await journal([{}]);
  const worker = await start(
    await script('trap "echo tidied; exit 0" TERM; sleep 60 & wait', { timeoutMs: 300 }),
  );
  const startedAt = performance.now();
  await worker.round();
  await worker.idle();
  expect(performance.now() - startedAt).toBeLessThan(1_700);
  expect(await attempts()).toMatchObject([{ outcome: 'timed_out', output: 'tidied\n' }]);
});

it('[IN-18] a command that exits and leaves a child with its output ends at once, and the child too', async () => {
  await journal([{}]);
  const worker = await start(await script('sleep 60 & echo $! > pids; echo done'));
  const startedAt = performance.now();
  await worker.round();
  await worker.idle();
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(await attempts()).toEqual([{ outcome: 'done', error: null, output: 'done\n' }]);
  await allGone([read('pids').trim()]);
});

it('[IN-18] process groups that a command makes (job control, timeout) are ended with it', async () => {
  await journal([{}]);
  const inGroup = 'echo $$ >> pids; while :; do sleep 0.1; done';
  writeFileSync(path('loop'), inGroup);
  const text =
    'set -m; sh loop & timeout 60 sh loop & until [ "$(cat pids 2> /dev/null | wc -l)" = 2 ]; do sleep 0.02; done; wait';
  const worker = await start(await script(text, { timeoutMs: 1_000 }));
  await worker.round();
  await worker.idle();
  expect(await attempts()).toMatchObject([{ outcome: 'timed_out' }]);
  const pids = read('pids').trim().split('\n');
  expect(pids).toHaveLength(2);
  await allGone(pids);
});

it('[IN-18] what leaves the session is out of reach, but holds up nothing', async () => {
  await journal([{}]);
  const worker = await start(
    await script(
      'setsid sh -c "echo \\$\\$ > pids; exec sleep 60" & until [ -s pids ]; do sleep 0.02; done; echo done',
    ),
  );
  const startedAt = performance.now();
  await worker.round();
  await worker.idle();
  const tookMs = performance.now() - startedAt;
  const escaped = Number(read('pids'));
  expect(isAlive(escaped)).toBe(true);
  process.kill(escaped, 'SIGKILL');
  expect(tookMs).toBeLessThan(3_000);
  expect(await attempts()).toEqual([{ outcome: 'done', error: null, output: 'done\n' }]);
});

it('[IN-18] a worker that stops ends its commands and gives their runs back without an attempt', async () => {
  await journal([{}]);
  const worker = await start(await script(`${family}wait`));
  await worker.round();
  const pids = await familyPids();
  await worker.work.stop(0);
  await allGone(pids);
  expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 0, deaths: 0 }]);
  expect(await attempts()).toEqual([]);
  expect(bodies()).toEqual([]);
});

it('[IN-18] handlers that are stopped amid a command end it, and delete the folder', async () => {
  await journal([{}]);
  const worker = await start(await script(`${family}wait`));
  await worker.round();
  const pids = await familyPids();
  await stopAll();
  await worker.idle();
  await allGone(pids);
  expect(readdirSync(join(dataDir(), 'exec'))).toEqual([]);
});

it('[IN-18] a shim that is killed: its commands are ended, their runs are tried again by a new one', async () => {
  await journal([{}]);
  const worker = await start(await script(`[ -e pids ] && { echo again; exit 0; }\n${family}wait`));
  await worker.round();
  const pids = await familyPids();
  const first = shimPid();
  process.kill(first, 'SIGKILL');
  await worker.idle();
  await allGone(pids);
  expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 1 }]);
  clock.advance(60_000);
  await worker.round();
  await worker.idle();
  expect(await attempts()).toEqual([
    { outcome: 'failed', error: 'the command was ended by SIGKILL', output: '' },
    { outcome: 'done', error: null, output: 'again\n' },
  ]);
  expect(shimPid()).not.toBe(first);
  expect(readdirSync(join(dataDir(), 'exec'))).toHaveLength(1);
});

it('[IN-18] a command that kills its own shim at once does not outlive it', async () => {
  await journal([{}, {}, {}]);
  const suicide = await make({ exec: { command: ['sh', '-c', 'kill -9 $PPID; echo $$ >> pids; sleep 60'] } });
  const worker = await start(suicide);
  for (let n = 1; n <= 3; n++) {
    await worker.round();
    await worker.idle();
  }
  expect(await attempts()).toHaveLength(3);
  await allGone(existsSync(path('pids')) ? read('pids').trim().split('\n') : []);
});

it('[IN-18] the sweep deletes the folders of dead workers, never that of a living one, also behind a link', async () => {
  await journal([{}]);
  const worker = await start(
    await script(
      'cp "$WEBHOOK_PAYLOAD_FILE" begun; until [ -e go ]; do sleep 0.02; done; cat "$WEBHOOK_PAYLOAD_FILE"',
    ),
  );
  await worker.round();
  await written('begun');
  const base = join(dataDir(), 'exec');
  const [living] = readdirSync(base);
  mkdirSync(join(base, 'worker-1-dead/run-x'), { recursive: true });
  writeFileSync(join(base, 'worker-1-dead/run-x/payload'), 'a body');
  mkdirSync(join(base, 'of-somebody-else'));
  symlinkSync(base, path('link'));
  expect(await sweepCommandFolders(path('link'))).toEqual([]);
  expect(readdirSync(base).sort()).toEqual(['of-somebody-else', living]);
  writeFileSync(path('go'), '');
  await worker.idle();
  expect(await attempts()).toEqual([{ outcome: 'done', error: null, output: '{"a":1}' }]);
});

it('[IN-18] a data directory that cannot be used is a sentence at the start', async () => {
  writeFileSync(dataDir(), 'a file');
  await expect(make({ exec: { command: ['true'] } })).rejects.toThrow(
    /^The folder .*\/data\/exec, where commands find the bodies of webhooks, cannot be used \(.*\); let the user of posthorn write there, or set dataDir\.$/,
  );
});

it('[IN-18] 200 runs, 50 at once, all end, and nothing is left', async () => {
  await journal(Array(200).fill({}));
  const worker = await start(
    await script('cmp -s "$WEBHOOK_PAYLOAD_FILE" /dev/null; echo "$WEBHOOK_RUN_ID"', {}, { concurrency: 50 }),
  );
  await worker.round();
  const rows = await waitFor('all to end', async () => {
    const ended = await query('select outcome, output, run from posthorn.run_attempts');
    return ended.rows.length === 200 && ended.rows;
  });
  for (const { outcome, output, run } of rows) expect([outcome, output]).toEqual(['done', `${run}\n`]);
  expect(bodies()).toEqual([]);
});

it('[IN-18] a stop of commands that never ran, and a second one, are fine', async () => {
  const commands = new Commands(join(dataDir(), 'exec'));
  await commands.stop();
  await commands.withFile(Buffer.from('x'), async (file) => expect(existsSync(file)).toBe(true));
  await commands.stop();
  await commands.stop();
  expect(readdirSync(join(dataDir(), 'exec'))).toEqual([]);
});
