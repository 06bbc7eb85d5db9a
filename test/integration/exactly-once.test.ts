import { describe, expect, it, vi } from 'vitest';
import type { Handler } from '../../src/inbound/index.ts';
import { waitFor } from '../support/wait-for.ts';
import { handler, recordEffect, useWorkers } from '../support/worker.ts';

const { clock, query, journal, start, events, runs, attempts, effects } = useWorkers();

describe('exactly once', () => {
  it('[IN-16] effect and mark are one commit; a throw after the write leaves neither', async () => {
    await journal([{}]);
    let count = 0;
    const worker = await start(
      handler(async (event, context) => {
        await recordEffect(event, context);
        if (++count === 1) throw new Error('after the write');
      }),
    );
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(0);
    clock.advance(20_000);
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(1);
    expect(await runs()).toMatchObject([{ status: 'done', attempts: 2 }]);
  });

  it('[IN-16] a statement that fails inside tx is not hidden by a handler that goes on', async () => {
    await journal([{}]);
    const worker = await start(
      handler(async (event, context) => {
        await recordEffect(event, context);
        await context.tx.query('select 1 / 0').catch(() => {});
      }),
    );
    await worker.round();
    await worker.idle();
    expect(await effects()).toBe(0);
    expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 1 }]);
  });

  it('[IN-16] a worker that stood still beyond its lease cannot commit: the second one has the run', async () => {
    await journal([{}]);
    let release: () => void = () => {};
    const first = await start(
      handler(async (event, context) => {
        await recordEffect(event, context);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }),
    );
    await first.round();
    await waitFor('the first worker to write', async () => (await runs())[0]?.status === 'running');
    await query(`update posthorn.runs set lease_until = clock_timestamp() - interval '1 s'`);
    const second = await start(handler(recordEffect));
    await second.round();
    await second.idle();
    expect(await runs()).toMatchObject([{ status: 'done', deaths: 1 }]);
    release();
    await first.idle();
    expect(await effects()).toBe(1);
    expect(await events()).toMatchObject([{ status: 'success', open_runs: 0 }]);
  });

  it('[IN-16] a mark with the right epoch of another holder is refused: a lost claim is made again with it', async () => {
    await journal([{}]);
    let release: (() => void) | undefined;
    const worker = await start(
      handler(async (event, context) => {
        await recordEffect(event, context);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }),
    );
    await worker.round();
    await waitFor('the effect', () => release !== undefined);
    await query(`update posthorn.runs set lease_holder = 'other'`);
    release?.();
    await worker.idle();
    expect(await effects()).toBe(0);
    expect(await runs()).toMatchObject([{ status: 'running', lease_holder: 'other', lease_epoch: 1 }]);
  });

  it('[IN-16] two workers that take the same events at once run each of them once', async () => {
    await journal(Array(100).fill({}));
    const [one, two] = [await start(handler(recordEffect)), await start(handler(recordEffect))];
    await waitFor('all events', async () => {
      await Promise.all([one.round(), two.round()]);
      return (await events()).every(({ status }) => status === 'success');
    });
    expect(await effects()).toBe(100);
    expect((await runs()).every(({ attempts: used }) => used === 1)).toBe(true);
  });

  it('[IN-15] renewal keeps a lease, and a run that was lost meanwhile is cut', async () => {
    await journal([{}, {}]);
    const reasons: string[] = [];
    const worker = await start(
      handler(async (_event, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        reasons.push((signal.reason as Error).message);
      }),
    );
    await worker.round();
    const [one, two] = await runs();
    await query(`update posthorn.runs set lease_until = clock_timestamp() + interval '5 s' where id = $1`, [
      one.id,
    ]);
    await query(
      `update posthorn.runs set lease_epoch = lease_epoch + 1, lease_holder = 'other' where id = $1`,
      [two.id],
    );
    await worker.work.renew();
    await waitFor('the lost run to be cut', () => reasons.length === 1);
    expect(reasons).toEqual(['another worker has this run']);
    const [renewed] = await runs();
    expect(renewed.lease_until.getTime() - one.lease_until.getTime()).toBeGreaterThan(-1_000);
    await waitFor('the lost run to be let go', () => worker.work.runningCount === 1);
  });

  it('[IN-15] a thousand leases are renewed by one statement, also while slow queries fill every other pool', async () => {
    await journal(Array(1_000).fill({}));
    const worker = await start(handler(() => new Promise(() => {}), { concurrency: 1_000 }));
    await worker.round();
    await waitFor('all to run', async () => {
      await worker.round();
      return worker.work.runningCount === 1_000;
    });
    await query(`update posthorn.runs set lease_until = clock_timestamp() + interval '2 s'`);
    const slow = Array.from({ length: 8 }, () => worker.pool.query('select pg_sleep(0.5)'));
    const statements = vi.spyOn(worker.leasePool, 'query');
    await worker.work.renew();
    expect(statements).toHaveBeenCalledTimes(1);
    statements.mockRestore();
    await Promise.all(slow);
    const { rows } = await query(
      `select count(*)::int as n from posthorn.runs where lease_until > clock_timestamp() + interval '20 s'`,
    );
    expect(rows[0].n).toBe(1_000);
  });

  it('[IN-15] a lease that ended, but whose run nobody took, gives the run back without a death', async () => {
    await journal([{}]);
    let calls = 0;
    const worker = await start(
      handler(async (_event, { signal }) => {
        calls += 1;
        if (calls > 1) return;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    );
    await worker.round();
    await query(`update posthorn.runs set lease_until = clock_timestamp() - interval '1 s'`);
    await worker.work.renew();
    await waitFor('the second try', async () => (await events())[0]?.status === 'success');
    expect(await runs()).toMatchObject([{ status: 'done', attempts: 1, deaths: 0 }]);
  });

  it('[IN-15] a stop gives back what cannot end in time, without counting an attempt', async () => {
    await journal([{}]);
    const worker = await start(handler(() => new Promise(() => {})));
    await worker.round();
    await worker.work.stop(10);
    expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 0, lease_holder: null }]);
    expect(await attempts()).toEqual([]);
  });
});

describe('deaths', () => {
  const die = () =>
    query(
      `update posthorn.runs set lease_until = clock_timestamp() - interval '1 s' where status = 'running'`,
    );

  it('[IN-15] a long run whose worker died stops the others for seconds only; no second such run joins it', async () => {
    await journal([{ eventType: 'long' }, { eventType: 'long' }]);
    const first = await start(handler(() => new Promise(() => {})));
    await first.round();
    await die();
    let letGo = () => {};
    const second = await start(
      handler((event) => event.eventType === 'long' && new Promise<void>((resolve) => (letGo = resolve))),
    );
    const countOf = async (status: string) => (await runs()).filter((run) => run.status === status).length;
    await second.round();
    expect(second.work.runningCount).toBe(1);
    await journal([{ eventType: 'short' }]);
    await second.round();
    expect(await countOf('done')).toBe(0);
    clock.advance(5_000);
    await second.round();
    await waitFor('the short one', async () => (await countOf('done')) === 1);
    expect(second.work.runningCount).toBe(1);
    letGo();
    await waitFor('the next one alone', async () => {
      await second.round();
      return (await countOf('done')) === 2 && second.work.runningCount === 1;
    });
    letGo();
    await second.idle();
    expect(await countOf('done')).toBe(3);
  });

  it('[IN-15] a run whose worker died does not wait for the end of a long one', async () => {
    await journal([{ eventType: 'suspect' }]);
    const first = await start(handler(() => new Promise(() => {})));
    await first.round();
    let letGo = () => {};
    const second = await start(
      handler(
        (event) =>
          event.eventType === 'long' &&
          new Promise<void>((resolve) => {
            letGo = resolve;
          }),
      ),
    );
    await journal([{ eventType: 'long' }]);
    await second.round();
    await query(
      `update posthorn.runs set lease_until = clock_timestamp() - interval '1 s' where lease_holder = $1`,
      [first.holder],
    );
    await second.work.run();
    await journal([{ eventType: 'short' }]);
    await second.round();
    expect((await runs()).filter(({ status }) => status === 'done')).toEqual([]);
    clock.advance(5_000);
    await waitFor('both', async () => {
      await second.round();
      return (await runs()).filter(({ status }) => status === 'done').length === 2;
    });
    expect(second.work.runningCount).toBe(1);
    letGo();
    await second.idle();
  });

  it('[IN-15] a run whose worker died has the next worker to itself; at the third death it is failed', async () => {
    await journal([{ eventType: 'guilty' }, {}, {}]);
    const together: string[][] = [];
    let running: string[] = [];
    const behave: Handler['run'] = async (event) => {
      running.push(event.eventType as string);
      together.push([...running]);
      if (event.eventType === 'guilty') await new Promise(() => {});
      running = running.filter((type) => type !== event.eventType);
    };
    const first = await start(handler(() => new Promise(() => {})));
    await first.round();
    await die();
    const second = await start(handler(behave));
    await second.round();
    expect((await runs()).map(({ deaths }) => deaths)).toEqual([1, 1, 1]);
    for (let death = 2; death <= 3; death++) {
      await waitFor('the guilty run alone', async () => {
        await second.round();
        return (
          (await runs()).find(({ status, deaths }) => status === 'running' && deaths === death - 1) !==
            undefined && second.work.runningCount === 1
        );
      });
      await die();
      await second.round();
      await second.work.renew();
      running = [];
      await second.round();
    }
    await waitFor('the others to be done', async () => {
      await second.round();
      return (await events()).filter(({ status }) => status === 'success').length === 2;
    });
    expect(together.every((types) => types.length === 1)).toBe(true);
    expect((await runs()).map(({ status, deaths }) => [status, deaths])).toEqual([
      ['failed', 3],
      ['done', 1],
      ['done', 1],
    ]);
    expect((await attempts()).filter(({ outcome }) => outcome === 'crashed').length).toBeGreaterThanOrEqual(
      3,
    );
    expect((await events())[0]).toMatchObject({ status: 'failed', open_runs: 0 });
  });
});
