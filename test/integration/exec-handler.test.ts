import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { useFileHandlers } from '../support/file-handlers.ts';
import { waitFor } from '../support/wait-for.ts';
import { useWorkers } from '../support/worker.ts';

const { clock, journal, start, query, runs } = useWorkers();
const { make, script, path, read, bodies } = useFileHandlers(clock);

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Runs what is due by a worker with this handler, and gives all tries. */
async function tries(made: Awaited<ReturnType<typeof make>>) {
  const worker = await start(made);
  await worker.round();
  await waitFor('nothing to be due', async () => {
    const due = (await runs()).filter(
      ({ status, next_attempt_at: at }) =>
        status === 'running' || (status === 'waiting' && at <= clock.now()),
    );
    return due.length === 0;
  });
  return (await query('select outcome, error, output from posthorn.run_attempts order by ended_at, n')).rows;
}

/** The environment that `env -0` printed: NUL cannot be stored and becomes U+FFFD. */
const environmentIn = (output: string) =>
  Object.fromEntries(
    output
      .split('\uFFFD')
      .slice(0, -1)
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );

it('[IN-18] the environment of a command is the allow-list and the event, and nothing else', async () => {
  vi.stubEnv('MARKER_SECRET', 'must-not-be-seen');
  vi.stubEnv('DATABASE_URL', 'postgres://user:must-not-be-seen@127.0.0.1/x');
  vi.stubEnv('LANG', 'C.UTF-8');
  vi.stubEnv('TZ', 'Europe/Berlin');
  const headers = '[["Host","example.com"],["X-Twice","one"],["x-twice","two"],["X-Quote","\\"ü\\""]]';
  const [event] = await journal([{ eventId: 'event-1', eventType: 'pull_request.opened', headers }]);
  const [run] = await tries(
    await make({ exec: { command: ['env', '-0'], env: { STAGE: 'test', TZ: 'UTC' } } }),
  );
  expect(run.output).not.toContain('must-not-be-seen');
  const [{ id }] = (await query('select id from posthorn.runs where event = $1', [event])).rows;
  const { WEBHOOK_PAYLOAD_FILE: file, ...environment } = environmentIn(run.output);
  expect(file).toMatch(/\/data\/exec\/worker-[^/]+\/run-[^/]+\/payload$/);
  expect(environment).toEqual({
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    STAGE: 'test',
    WEBHOOK_SOURCE: 'github',
    WEBHOOK_EVENT: 'pull_request.opened',
    WEBHOOK_EVENT_ID: 'event-1',
    WEBHOOK_RUN_ID: id,
    WEBHOOK_HEADERS: JSON.stringify({ host: 'example.com', 'x-twice': 'one, two', 'x-quote': '"ü"' }),
    WEBHOOK_PAYLOAD: '{"a":1}',
  });
});

it('[IN-18] an event without a type has an empty one; a replay has a run id of its own', async () => {
  await journal([{ eventType: null }]);
  const made = await script('printf "%s" "[$WEBHOOK_EVENT] $WEBHOOK_RUN_ID"');
  await tries(made);
  const [{ id, event }] = await runs();
  await query("update posthorn.events set status = 'processing', open_runs = 1 where id = $1", [event]);
  await query(
    "insert into posthorn.runs (event, handler, replay, next_attempt_at) values ($1, 'app', 1, to_timestamp(0))",
    [event],
  );
  const [replayed] = (await query('select id from posthorn.runs where replay = 1')).rows;
  const outputs = (await tries(made)).map(({ output }) => output);
  expect(outputs.sort()).toEqual([`[] ${id}`, `[] ${replayed.id}:r1`].sort());
});

it('[IN-18] 512 KiB of random bytes arrive by file as they came, and not in the environment', async () => {
  const body = randomBytes(512 * 1024);
  await journal([{ body }]);
  const made = await script('cp "$WEBHOOK_PAYLOAD_FILE" copy; printenv WEBHOOK_PAYLOAD || echo unset');
  expect(await tries(made)).toEqual([{ outcome: 'done', error: null, output: 'unset\n' }]);
  expect(readFileSync(path('copy')).equals(body)).toBe(true);
});

it('[IN-18] WEBHOOK_PAYLOAD holds the body up to what fits one environment string, to the byte', async () => {
  // Linux: 131,072 bytes with the name, "=" and NUL.
  const most = 131_072 - 'WEBHOOK_PAYLOAD'.length - 2;
  await journal([
    { body: Buffer.alloc(most, 'a') },
    { body: Buffer.alloc(most + 1, 'a') },
    { body: Buffer.alloc(0) },
  ]);
  const made = await script(
    'printenv WEBHOOK_PAYLOAD > copy && printf "%s" "$WEBHOOK_PAYLOAD" | cmp - "$WEBHOOK_PAYLOAD_FILE" && echo same; wc -c < "$WEBHOOK_PAYLOAD_FILE"',
    {},
    { concurrency: 3 },
  );
  const seen = (await tries(made)).map(
    ({ outcome, output }) => `${outcome} ${output.replace(/\n/g, ' ').trim()}`,
  );
  expect(seen.sort()).toEqual([`done ${most + 1}`, 'done same 0', `done same ${most}`]);
});

it('[IN-18] a body with NUL or that is no UTF-8 comes by file alone', async () => {
  const bodies = [
    Buffer.from('{"a":"\0"}'),
    Buffer.from([0x22, 0xc3, 0x28, 0x22]),
    Buffer.from('{"a":"ü€😀"}'),
  ];
  await journal(bodies.map((body) => ({ body })));
  const made = await script(
    'printenv WEBHOOK_PAYLOAD || echo unset; cp "$WEBHOOK_PAYLOAD_FILE" "$WEBHOOK_EVENT_ID"',
    {},
    { concurrency: 3 },
  );
  await tries(made);
  const { rows } = await query(
    `select event_id, output from posthorn.runs join posthorn.events on events.id = runs.event
     join posthorn.run_attempts on run_attempts.run = runs.id order by events.id`,
  );
  expect(rows.map(({ output }) => output)).toEqual(['unset\n', 'unset\n', '{"a":"ü€😀"}\n']);
  for (const [n, { event_id: id }] of rows.entries())
    expect(readFileSync(path(id)).equals(bodies[n] as Buffer)).toBe(true);
});

it('[IN-18] body and folder are for nobody else, and gone after success, failure and time-out', async () => {
  for (const [text, outcome] of [
    ['', 'done'],
    ['exit 3', 'failed'],
    ['sleep 60', 'timed_out'],
  ] as const) {
    await query('truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts');
    await journal([{}]);
    const modes =
      'stat -c %a "$WEBHOOK_PAYLOAD_FILE" "$(dirname "$WEBHOOK_PAYLOAD_FILE")" "$(dirname "$(dirname "$WEBHOOK_PAYLOAD_FILE")")"';
    const made = await script(`${modes}; echo "$WEBHOOK_PAYLOAD_FILE" > file\n${text}`, { timeoutMs: 1_000 });
    const [run] = await tries(made);
    expect(run).toMatchObject({ outcome, output: '600\n700\n700\n' });
    expect(statSync(read('file').trim(), { throwIfNoEntry: false }), outcome).toBeUndefined();
    expect(bodies()).toEqual([]);
  }
});

it('[IN-18] no shell looks at a command: its arguments arrive as they are', async () => {
  await journal([{}]);
  const odd = ['$(touch owned)', '; touch owned', 'a  b', '', '*', '"\'`', '$HOME', '-n', '\n', '| cat'];
  const show = 'console.log(JSON.stringify(process.argv.slice(1)))';
  const [run] = await tries(await make({ exec: { command: [process.execPath, '-e', show, '--', ...odd] } }));
  expect(JSON.parse(run.output)).toEqual(odd);
  expect(statSync(path('owned'), { throwIfNoEntry: false })).toBeUndefined();
});

it('[IN-18] a command works in the folder of the configuration, and reads nothing from its input', async () => {
  await journal([{}]);
  const [run] = await tries(await script('pwd; cat; echo read'));
  expect(run).toMatchObject({ outcome: 'done', output: `${path('.')}\nread\n` });
});

it('[IN-18] one run at a time is the default, over two workers too', async () => {
  await journal(Array(6).fill({}));
  const made = await script('mkdir lock || { echo two; exit 9; }; sleep 0.15; rmdir lock');
  expect(made.concurrency).toBe(1);
  const workers = [await start(made), await start(made)];
  for (const worker of workers) worker.work.start();
  for (const worker of workers) await worker.planner.run();
  await waitFor('all runs to be done', async () => (await runs()).every(({ status }) => status === 'done'));
  const ended = await query('select outcome from posthorn.run_attempts');
  expect(ended.rows.map(({ outcome }) => outcome)).toEqual(Array(6).fill('done'));
});
