import { expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { handler, recordEffect, useWorkers } from '../support/worker.ts';

const { clock, journal, start, events, runs, attempts, effects, query } = useWorkers();

it('[IN-15] whatever a handler throws ends its run as a failed attempt', async () => {
  const odd: unknown[] = [
    Object.create(null),
    {
      toString: () => {
        throw new Error('not even this');
      },
    },
    Object.assign(new Error('x'), { stack: {} }),
    undefined,
    null,
    Symbol('s'),
    'text with \0 and \ud800',
    () => {},
  ];
  await journal(odd.map(() => ({})));
  const left = [...odd];
  const worker = await start(
    handler(() => {
      throw left.pop();
    }),
  );
  await worker.round();
  await worker.idle();
  expect((await runs()).map(({ status, attempts: used }) => [status, used])).toEqual(
    odd.map(() => ['waiting', 1]),
  );
  expect((await attempts()).every(({ outcome, error }) => outcome === 'failed' && error.length > 0)).toBe(
    true,
  );
});

it('[IN-15] retryLater waits at least a second and at most a day', async () => {
  await journal([{ eventType: 'soon' }, { eventType: 'late' }]);
  const worker = await start(
    handler((event, { retryLater }) => retryLater(event.eventType === 'soon' ? 0 : 1e300)),
  );
  await worker.round();
  await worker.idle();
  const waits = (await runs()).map(({ next_attempt_at: due }) => due.getTime() - clock.now());
  expect(waits).toEqual([1_000, 24 * 3_600_000]);
});

it('[IN-16] a handler cannot end its transaction by itself', async () => {
  for (const statement of [
    'commit',
    ' ROLLBACK',
    'end',
    'begin',
    'start transaction',
    'abort',
    'prepare transaction $$x$$',
    '/* done */ commit',
    '-- done\ncommit',
    'select 1; commit',
    "select '--'; commit",
    'select 1 as "/*"; commit; select 1 as "*/"',
  ]) {
    await query(
      'truncate posthorn.events, posthorn.event_bodies, posthorn.runs, posthorn.run_attempts, public.effects',
    );
    await journal([{}]);
    const worker = await start(
      handler(async (event, context) => {
        await recordEffect(event, context);
        await context.tx.query(statement);
      }),
    );
    await worker.round();
    await worker.idle();
    expect(await effects(), statement).toBe(0);
    expect((await attempts())[0].error, statement).toContain('tx is one transaction');
  }
});

it('[IN-16] a commit that is hidden in a longer text is noticed: the run is not marked done', async () => {
  await journal([{}]);
  const worker = await start(
    handler(async (_event, { tx }) => {
      await tx.query(String.raw`select E'\''; commit; begin; select ''`);
    }),
  );
  await worker.round();
  await worker.idle();
  expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 1 }]);
  expect((await attempts())[0].error).toContain("was not the run's own any more");
});

it('[IN-16] a text of several statements gives the rows of its last, also where it looks like an end', async () => {
  await journal([{}]);
  const seen: unknown[] = [];
  const worker = await start(
    handler(async (_event, { tx }) => {
      seen.push((await tx.query(`select 1 as n; select 2 as n`)).rows);
      seen.push((await tx.query(`select '; commit' as "; end"`)).rows);
      await tx.query('do $$ begin perform 1; end $$');
    }),
  );
  await worker.round();
  await worker.idle();
  expect(seen).toEqual([[{ n: 2 }], [{ '; end': '; commit' }]]);
  expect(await runs()).toMatchObject([{ status: 'done' }]);
});

it('[IN-16] savepoints are the own affair of a handler', async () => {
  await journal([{}]);
  const worker = await start(
    handler(async (event, context) => {
      await recordEffect(event, context);
      await context.tx.query('savepoint here');
      await context.tx.query('select 1 / 0').catch(() => {});
      await context.tx.query('rollback to here');
    }),
  );
  await worker.round();
  await worker.idle();
  expect(await effects()).toBe(1);
  expect(await events()).toMatchObject([{ status: 'success' }]);
});

it('[IN-16] what a handler changes in its session does not reach later runs', async () => {
  await journal(Array(6).fill({}));
  const seen: unknown[] = [];
  const worker = await start(
    handler(
      async (_event, { tx }) => {
        const { rows } = await tx.query(`select current_setting('search_path') as path`);
        seen.push(rows[0]?.path);
        await tx.query('create temp table scratch (n int)');
        await tx.query(`set search_path = 'leaked'`);
      },
      { concurrency: 1 },
    ),
  );
  await waitFor('all runs', async () => {
    await worker.round();
    await worker.idle();
    return (await events()).every(({ status }) => status === 'success');
  });
  expect(new Set(seen).size).toBe(1);
});

it('[IN-16] plain statements, an UPDATE among them, keep the connection for the next run', async () => {
  await journal(Array(4).fill({}));
  const pids = new Set<unknown>();
  const worker = await start(
    handler(
      async (event, context) => {
        await recordEffect(event, context);
        await context.tx.query(
          'update public.effects -- set nothing else\n set event = event where event = $1',
          [event.id],
        );
        const { rows } = await context.tx.query('select pg_backend_pid() as pid');
        pids.add(rows[0]?.pid);
      },
      { concurrency: 1 },
    ),
  );
  await waitFor('all runs', async () => {
    await worker.round();
    await worker.idle();
    return (await events()).every(({ status }) => status === 'success');
  });
  expect(pids.size).toBe(1);
});
