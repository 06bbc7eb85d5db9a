import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Handler } from '../../src/inbound/index.ts';
import { useFileHandlers } from '../support/file-handlers.ts';
import { useWorkers } from '../support/worker.ts';

const { clock, journal, start, query, runs } = useWorkers();
const { make, script, path } = useFileHandlers(clock);

/** Runs one event by a handler once, and gives its try with what became of the run. */
async function tryOnce(made: Handler) {
  await journal([{}]);
  const worker = await start(made);
  await worker.round();
  await worker.idle();
  const [attempt] = (await query('select outcome, error, output from posthorn.run_attempts')).rows;
  const [{ status, attempts, next_attempt_at: due }] = await runs();
  return { ...attempt, status, attempts, waitsMs: due.getTime() - clock.now() };
}

it('[IN-18] exit code 0 is done, with what the command wrote', async () => {
  expect(await tryOnce(await script('echo out; echo err >&2'))).toMatchObject({
    outcome: 'done',
    error: null,
    output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
    status: 'done',
  });
});

it('[IN-18] exit code 75 asks for another try in a minute and uses up no attempt', async () => {
  expect(await tryOnce(await script('echo busy; exit 75'))).toEqual({
    outcome: 'retry_later',
    error: 'the command asked for a later try (exit 75)',
    output: 'busy\n',
    status: 'waiting',
    attempts: 0,
    waitsMs: 60_000,
  });
});

it('[IN-18] another exit code is a failed attempt', async () => {
  const ended = await tryOnce(await script('echo no such host; exit 3'));
  expect(ended).toMatchObject({
    outcome: 'failed',
    output: 'no such host\n',
    status: 'waiting',
    attempts: 1,
  });
  expect(ended.error).toBe('the command ended with exit code 3');
  expect(ended.waitsMs).toBeGreaterThanOrEqual(8_000);
  expect(ended.waitsMs).toBeLessThanOrEqual(12_000);
});

it('[IN-18] a command that a signal ends is a failed attempt', async () => {
  expect(await tryOnce(await script('echo so far; kill -SEGV $$'))).toMatchObject({
    outcome: 'failed',
    error: 'the command was ended by SIGSEGV',
    output: 'so far\n',
    status: 'waiting',
    attempts: 1,
  });
});

it('[IN-18] a command that cannot start is a failed attempt that says why, and others go on', async () => {
  const cannot = 'the command cannot be started: ';
  const handlers: [make: () => Promise<Handler>, error: string | RegExp][] = [
    [
      () => make({ exec: { command: ['posthorn-no-such-program'] } }),
      `${cannot}spawn posthorn-no-such-program ENOENT`,
    ],
    [
      async () => {
        const made = await script('');
        chmodSync(path('script'), 0o644);
        return made;
      },
      /^the command cannot be started: spawn .*script EACCES$/,
    ],
    // More than Linux takes as one string is thrown, where others come as an event.
    [() => make({ exec: { command: ['true', 'x'.repeat(200_000)] } }), `${cannot}spawn E2BIG`],
    [
      () => make({ exec: { command: ['./script/below'] } }),
      /^the command cannot be started: spawn .*ENOTDIR$/,
    ],
  ];
  for (const [makeOne, error] of handlers) {
    await query('truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts');
    const ended = await tryOnce(await makeOne());
    expect(ended).toMatchObject({ outcome: 'failed', status: 'waiting', attempts: 1 });
    expect(ended.error).toMatch(error);
  }
});

it('[IN-18] one command that the system refuses does not end those beside it', async () => {
  await journal([{ eventType: 'good' }, { eventType: 'big' }]);
  const good = await script('until [ -e refused ]; do sleep 0.02; done; echo undisturbed');
  const made: Handler = {
    ...good,
    concurrency: 2,
    run: async (event, context) => {
      if (event.eventType === 'good') return good.run(event, context);
      // The same shim: more than one string of the environment takes.
      const headers = async () => [['x-long', 'x'.repeat(200_000)]] as [string, string][];
      const ended = await good.run({ ...event, headers }, context);
      writeFileSync(path('refused'), '');
      return ended;
    },
  };
  const worker = await start(made);
  await worker.round();
  await worker.idle();
  const { rows } = await query('select outcome, error, output from posthorn.run_attempts order by outcome');
  expect(rows).toEqual([
    { outcome: 'done', error: null, output: 'undisturbed\n' },
    { outcome: 'failed', error: 'the command cannot be started: spawn E2BIG', output: null },
  ]);
});

it('[IN-18] where the folder that it works in is gone, the try says so', async () => {
  const made = await make({ exec: { command: ['true'] } });
  rmSync(path(''), { recursive: true });
  expect(await tryOnce(made)).toMatchObject({
    outcome: 'failed',
    error: `the command cannot be started: the folder ${path('')} is gone`,
  });
});

it('[IN-18] of 10 MB of output the last 64 KiB are kept, with a note, its last line whole', async () => {
  const ended = await tryOnce(
    await script('yes 0123456789abcde | head -c 5000000; head -c 5000000 /dev/zero; echo the end; exit 4'),
  );
  expect(ended).toMatchObject({ outcome: 'failed', error: 'the command ended with exit code 4' });
  const [note, ...rest] = ended.output.split('\n');
  expect(note).toBe(`[${10_000_000 + 8 - (64 * 1024 - 64)} bytes before this are left out]`);
  expect(ended.output.length).toBeLessThanOrEqual(64 * 1024);
  expect(ended.output.length).toBeGreaterThan(64 * 1024 - 64);
  expect(rest.join('\n')).toMatch(/^\uFFFD+the end\n$/);
});

it('[IN-18] output that is just kept whole has no note', async () => {
  const ended = await tryOnce(await script('head -c 65536 /dev/zero | tr "\\0" x'));
  expect(ended.output).toBe('x'.repeat(65_536));
});

it('[IN-18] NUL and bytes that are no UTF-8 in the output do not hinder the mark', async () => {
  const ended = await tryOnce(await script(`printf 'a\\000b\\377\\355\\240\\200c\\303'`));
  expect(ended).toMatchObject({ outcome: 'done', status: 'done' });
  expect(ended.output).toMatch(/^a\uFFFDb\uFFFD+c\uFFFD$/);
});

it('[IN-18] a command that closes its output ends when it exits, not before', async () => {
  const ended = await tryOnce(await script('echo first; exec >&- 2>&-; sleep 0.3; : > later; exit 5'));
  expect(ended).toMatchObject({ error: 'the command ended with exit code 5', output: 'first\n' });
});
