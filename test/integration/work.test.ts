import { describe, expect, it } from 'vitest';
import type { HandlerEvent } from '../../src/inbound/index.ts';
import { waitFor } from '../support/wait-for.ts';
import { handler, recordEffect, useWorkers } from '../support/worker.ts';

const { clock, journal, start, events, runs, attempts, effects, query } = useWorkers();

describe('a run', () => {
  it('[IN-15] hands the event to the handler: identity, headers, bytes, parsed payload', async () => {
    let seen: HandlerEvent | undefined;
    const found: unknown[] = [];
    const [id] = await journal([{ eventId: 'e-1', site: 'shop', body: Buffer.from('\ufeff{"a": 1}') }]);
    const worker = await start(
      handler(async (event) => {
        seen = event;
        found.push(await event.headers(), await event.body(), await event.json());
      }),
    );
    await worker.round();
    await worker.idle();
    expect(seen).toMatchObject({
      id,
      source: 'github',
      eventId: 'e-1',
      eventType: 'push',
      site: 'shop',
      replay: 0,
      attempt: 1,
    });
    expect(found).toEqual([[['X-GitHub-Event', 'push']], Buffer.from('\ufeff{"a": 1}'), { a: 1 }]);
    expect(await events()).toMatchObject([{ status: 'success', open_runs: 0 }]);
    expect(await attempts()).toMatchObject([{ outcome: 'done', error: null }]);
  });

  it('[IN-13] several handlers of an event are tracked apart; any failed one makes the event failed', async () => {
    await journal([{}]);
    const worker = await start(
      handler(recordEffect, { name: 'good' }),
      handler((_event, { reject }) => reject('not today'), { name: 'bad' }),
    );
    await worker.round();
    await worker.idle();
    expect(await events()).toMatchObject([{ status: 'failed', open_runs: 0 }]);
    expect((await runs()).map(({ handler: name, status }) => [name, status])).toEqual([
      ['bad', 'failed'],
      ['good', 'done'],
    ]);
    expect((await attempts()).map(({ outcome, error }) => [outcome, error])).toContainEqual([
      'rejected',
      'not today',
    ]);
  });

  it('[IN-13] two runs of one event that end at once do not both see the other unfinished', async () => {
    await journal(Array(40).fill({}));
    const worker = await start(...['a', 'b', 'c', 'd'].map((name) => handler(recordEffect, { name })));
    await waitFor('all events to be settled', async () => {
      await worker.round();
      return (await events()).every(({ status }) => status === 'success');
    });
    expect(await effects()).toBe(160);
  });

  it('[IN-15] patterns choose the events; what no handler wants stays accepted', async () => {
    const types = ['push', 'pull_request', 'pull_request.opened', 'pull_requests', null];
    await journal(types.map((eventType) => ({ eventType })));
    const worker = await start(handler(recordEffect, { patterns: ['pull_request.*'] }));
    await worker.round();
    await worker.idle();
    expect((await events()).map(({ status }) => status)).toEqual([
      'accepted',
      'success',
      'success',
      'accepted',
      'accepted',
    ]);
  });

  it('[IN-15] a handler has at most its concurrency of runs at once', async () => {
    let now = 0;
    let most = 0;
    const open: (() => void)[] = [];
    await journal(Array(7).fill({}));
    const worker = await start(
      handler(
        async () => {
          most = Math.max(most, ++now);
          await new Promise<void>((resolve) => open.push(resolve));
          now--;
        },
        { concurrency: 3 },
      ),
    );
    await worker.round();
    await worker.round();
    expect(now).toBe(3);
    await waitFor('all runs', async () => {
      open.splice(0).forEach((let_go) => {
        let_go();
      });
      await worker.round();
      return (await events()).every(({ status }) => status === 'success');
    });
    expect(most).toBe(3);
  });
});

describe('retries', () => {
  it('[IN-15] a throw is tried again, 10 s doubling to 10 min within 20 %, ten times, then failed', async () => {
    await journal([{}]);
    const worker = await start(
      handler(() => {
        throw new Error('broken');
      }),
    );
    for (let attempt = 1; attempt <= 10; attempt++) {
      await worker.round();
      await worker.idle();
      const [run] = await runs();
      expect(run.attempts).toBe(attempt);
      if (attempt === 10) break;
      const waitMs = run.next_attempt_at.getTime() - clock.now();
      const due = Math.min(600_000, 10_000 * 2 ** (attempt - 1));
      expect(waitMs / due).toBeGreaterThanOrEqual(0.8);
      expect(waitMs / due).toBeLessThanOrEqual(1.2);
      await worker.round();
      expect((await runs())[0].attempts, 'not before it is due').toBe(attempt);
      clock.advance(waitMs);
    }
    expect((await runs())[0].status).toBe('failed');
    expect(await events()).toMatchObject([{ status: 'failed', open_runs: 0 }]);
    expect((await attempts())[0].error).toContain('Error: broken');
  });

  it('[IN-15] a verdict that is made but neither returned nor thrown counts; a throw behind it counts more', async () => {
    await journal([{}]);
    const worker = await start(
      handler((_event, { reject }) => void reject('not wanted'), { name: 'forgets' }),
      handler((_event, { retryLater }) => void retryLater(60_000), { name: 'waits' }),
      handler(
        (_event, { retryLater }) => {
          retryLater(60_000);
          throw new Error('broken');
        },
        { name: 'throws' },
      ),
    );
    await worker.round();
    await worker.idle();
    const { rows } = await query(`select handler, outcome from posthorn.run_attempts join posthorn.runs
      on runs.id = run order by handler`);
    expect(rows).toEqual([
      { handler: 'forgets', outcome: 'rejected' },
      { handler: 'throws', outcome: 'failed' },
      { handler: 'waits', outcome: 'retry_later' },
    ]);
  });

  it('[IN-15] retryLater, returned or thrown, uses up no attempt and ends after 24 hours', async () => {
    await journal([{}]);
    let count = 0;
    const worker = await start(
      handler((_event, { retryLater }) => {
        if (++count % 2 === 0) throw retryLater(6 * 3_600_000);
        return retryLater(6 * 3_600_000);
      }),
    );
    for (let round = 0; round < 5; round++) {
      await worker.round();
      await worker.idle();
      clock.advance(6 * 3_600_000);
    }
    expect(count).toBe(5);
    expect(await runs()).toMatchObject([{ status: 'failed', attempts: 0 }]);
    expect((await attempts()).at(-1)).toMatchObject({
      outcome: 'retry_later',
      error: 'deferred for 24 hours',
    });
  });

  it('[IN-15] a handler beyond its time-out is cut: signal, transaction, a retry; later use of tx throws', async () => {
    await journal([{}]);
    let late: unknown;
    let signalled = false;
    const worker = await start(
      handler(
        async (event, { tx, signal }) => {
          await tx.query('insert into public.effects values ($1)', [event.id]);
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          signalled = true;
          late = await tx.query('select 1').catch((error: Error) => error.message);
        },
        { timeoutMs: 150 },
      ),
    );
    await worker.round();
    await worker.idle();
    await waitFor('the handler to notice', () => late !== undefined);
    expect(signalled).toBe(true);
    expect(late).toMatch(/this run has ended/);
    expect(await effects()).toBe(0);
    expect(await runs()).toMatchObject([{ status: 'waiting', attempts: 1 }]);
    expect(await attempts()).toMatchObject([{ outcome: 'timed_out' }]);
  });
});
