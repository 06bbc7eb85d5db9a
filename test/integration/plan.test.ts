import { describe, expect, it } from 'vitest';
import { Planner } from '../../src/inbound/plan.ts';
import { quietLog } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { handler, recordEffect, type TestWorker, useWorkers } from '../support/worker.ts';

const { clock, journal, start, events, effects, query, connect, pool } = useWorkers();

describe('making runs', () => {
  it('[IN-15] a row that is committed after a greater id was seen is found without waiting for the sweep', async () => {
    const worker = await start(handler(recordEffect));
    await worker.round();
    const late = await connect();
    await late.query('begin');
    const [first] = await journal([{ eventId: 'shape' }]);
    // The id is taken now, the row is visible later, as two batches in flight do it.
    const { rows } = await late.query(`select nextval('posthorn.events_id_seq') as id`);
    await late.query(
      `insert into posthorn.events (id, source, event_id, event_type, status, size, received_at, via)
       select $1, source, 'late', event_type, 'accepted', size, received_at, via from posthorn.events where id = $2`,
      [rows[0].id, first],
    );
    await journal([{}, {}]);
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(3);
    await late.query('commit');
    late.release();
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(4);
  });

  it('[IN-15] an event that no handler wants is looked at once, and again by the sweep of every minute', async () => {
    await journal([{ eventType: 'unwanted' }]);
    const worker = await start(handler(recordEffect, { patterns: ['push'] }));
    await worker.round();
    await query(`update posthorn.events set event_type = 'push'`);
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(0);
    clock.advance(60_000);
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(1);
  });

  it('[IN-15] a clock that was set back does not put the sweep off', async () => {
    const worker = await start(handler(recordEffect, { patterns: ['push'] }));
    await worker.round();
    await journal([{ eventType: 'unwanted' }]);
    await worker.round();
    await query(`update posthorn.events set event_type = 'push'`);
    clock.advance(-3_600_000);
    await worker.round();
    await query('update posthorn.runs set next_attempt_at = $1', [new Date(clock.now())]);
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(1);
  });

  it('[IN-15] a backlog larger than one round gets all its runs', async () => {
    await journal(Array.from({ length: 1_300 }, (_, at) => ({ eventType: at % 2 === 0 ? 'push' : 'other' })));
    const worker = await start(handler(recordEffect, { patterns: ['push', 'none'] }));
    await worker.round();
    const { rows } = await query('select count(*)::int as n from posthorn.runs');
    expect(rows[0].n).toBe(650);
    await journal(Array.from({ length: 700 }, () => ({})));
    await worker.round();
    await waitFor('all to be done', async () => {
      await worker.round();
      return (await effects()) === 1_350;
    });
    expect((await events()).filter(({ status }) => status === 'accepted')).toHaveLength(650);
  });

  it('[IN-15] several patterns of one handler that fit one event make one run', async () => {
    await journal([{ eventType: 'push' }, { eventType: 'pull_request.opened' }]);
    const worker = await start(handler(recordEffect, { patterns: ['push', 'pu*', 'pull_request.*'] }));
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(2);
  });
});

describe('under pressure', () => {
  const putOff = new Set<string>();
  const runsOf = async () =>
    (
      await query(
        'select handler, event_id from posthorn.runs join posthorn.events on events.id = event order by 1, 2',
      )
    ).rows.map((row) => `${row.handler} ${row.event_id}`);
  const createPlanner = async () => {
    putOff.clear();
    const { rows } = await query(`select id from posthorn.sources where code = 'github'`);
    const source = rows[0].id as number;
    const subscriptions = [
      { handler: 'a', source, regex: '^(a|both)$' },
      { handler: 'b', source, regex: '^(b|both)$' },
    ];
    const isPutOff = (handler: string) => putOff.has(handler);
    const deps = { pool: pool(), clock, log: quietLog, isPressed: () => putOff.size > 0, isPutOff };
    return new Planner(subscriptions, deps, () => {});
  };
  const send = (...types: string[]) =>
    journal(types.map((eventType, at) => ({ eventType, eventId: `${eventType}-${at}` })));

  it('[IN-15] a handler that is put off gets its events later, in order; others are not held up by it', async () => {
    await send('first');
    const planner = await createPlanner();
    await planner.run();
    putOff.add('a');
    await send('a', 'b', 'a', 'both', 'a');
    await planner.run();
    expect(await runsOf()).toEqual(['a both-3', 'b b-1', 'b both-3']);
    putOff.clear();
    await planner.run();
    expect((await runsOf()).filter((run) => run.startsWith('a '))).toEqual([
      'a a-0',
      'a a-2',
      'a a-4',
      'a both-3',
    ]);
    await planner.stop();
  });

  it('[IN-15] while all are put off nothing is looked at, and nothing is missed', async () => {
    await send('first');
    const planner = await createPlanner();
    await planner.run();
    putOff.add('a').add('b');
    await send('a', 'b');
    clock.advance(60_000);
    await planner.run();
    expect(await runsOf()).toEqual([]);
    putOff.delete('b');
    await planner.run();
    expect(await runsOf()).toEqual(['b b-1']);
    putOff.delete('a');
    await planner.run();
    expect(await runsOf()).toEqual(['a a-0', 'b b-1']);
    await planner.stop();
  });

  it('[IN-15] more than a round of put-off events is taken up step by step', async () => {
    await send('first');
    const planner = await createPlanner();
    await planner.run();
    putOff.add('a');
    await journal(Array.from({ length: 1_200 }, () => ({ eventType: 'a' })));
    await send('b');
    await planner.run();
    expect(await runsOf()).toEqual(['b b-0']);
    putOff.clear();
    await planner.run();
    expect(await runsOf()).toHaveLength(1_201);
    await planner.stop();
  });
});

describe('listeners', () => {
  it('[IN-15] on.received hears of an event once its runs are made, on.failed of a run that is over for good', async () => {
    const heard: unknown[] = [];
    const worker = await start(
      handler((_event, { reject }) => reject('not wanted'), { name: 'picky', patterns: ['push'] }),
    );
    worker.listeners.add('received', (event) => heard.push(['received', event]));
    worker.listeners.add('failed', (event) => heard.push(['failed', event]));
    await journal([{ eventId: 'e-1' }, { eventId: 'e-2', eventType: 'other' }]);
    await worker.round();
    await worker.idle();
    const event = { source: 'github', eventId: 'e-1', eventType: 'push' };
    expect(heard).toMatchObject([
      ['received', event],
      ['failed', { ...event, handler: 'picky', error: 'not wanted' }],
    ]);
  });

  it('[IN-15] a listener that throws, rejects or hangs changes nothing', async () => {
    const worker = await start(handler(recordEffect));
    worker.listeners.add('received', () => {
      throw new Error('thrown');
    });
    worker.listeners.add('received', () => Promise.reject(new Error('rejected')));
    worker.listeners.add('received', () => new Promise(() => {}));
    await journal(Array(1_100).fill({}));
    await waitFor('all to be done', async () => {
      await worker.round();
      return (await effects()) === 1_100;
    });
  });

  it('[IN-15] on.failed hears of a run whose worker died at each try', async () => {
    const heard: unknown[] = [];
    await journal([{ eventId: 'e-1' }]);
    const first = await start(handler(() => new Promise(() => {}), { maxDeaths: 1 }));
    await first.round();
    await query(`update posthorn.runs set lease_until = clock_timestamp() - interval '1 s'`);
    const second = await start(handler(recordEffect, { maxDeaths: 1 }));
    second.listeners.add('failed', (event) => heard.push(event));
    await second.round();
    expect(heard).toMatchObject([
      { eventId: 'e-1', handler: 'app', error: expect.stringContaining('crashed') },
    ]);
  });
});

describe('concurrency of the cluster', () => {
  it('[IN-15] several workers that claim at once never run more than the concurrency together', async () => {
    let running = 0;
    let most = 0;
    const behave = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 3));
      running -= 1;
    };
    const workers: TestWorker[] = [];
    for (let at = 0; at < 4; at++) workers.push(await start(handler(behave, { concurrency: 3 })));
    await journal(Array(200).fill({}));
    await waitFor('all to be done', async () => {
      await Promise.all(workers.map((worker) => worker.round()));
      return (await events()).every(({ status }) => status === 'success');
    });
    expect(most).toBe(3);
  });

  it('[IN-15] a suspect counts too', async () => {
    await journal([{}, {}]);
    const hang = () => new Promise(() => {});
    const first = await start(handler(hang, { concurrency: 1 }));
    await first.round();
    await query(`update posthorn.runs set deaths = 1 where status = 'waiting'`);
    const second = await start(handler(recordEffect, { concurrency: 1 }));
    await second.round();
    expect(second.work.runningCount).toBe(0);
    expect(await effects()).toBe(0);
  });

  it('[IN-15] a claim whose answer was lost is given back without a death', async () => {
    await journal([{}]);
    const worker = await start(handler(recordEffect));
    await worker.planner.run();
    await query(
      `update posthorn.runs set status = 'running', attempts = 1, lease_holder = $1, lease_epoch = 1,
         lease_until = clock_timestamp() + interval '20 s'`,
      [worker.holder],
    );
    await journal([{}]);
    await worker.planner.run();
    await worker.loseClaim();
    await waitFor('both runs to be done', async () => {
      await worker.round();
      return (await effects()) === 2;
    });
    const { rows } = await query('select attempts, deaths from posthorn.runs');
    expect(rows).toEqual(Array(2).fill({ attempts: 1, deaths: 0 }));
  });
});
