import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Loop } from './loop.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function createLoop(results: (boolean | Error)[], mostRestMs = 0) {
  let rounds = 0;
  const errors: string[] = [];
  const loop = new Loop({
    round: async () => {
      const result = results[rounds++] ?? false;
      if (result instanceof Error) throw result;
      return result;
    },
    onError: ({ message }) => errors.push(message),
    mostRestMs,
  });
  return { loop, errors, rounds: () => rounds };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

it('[OUT-8] wakes that come during a round make a single further one', async () => {
  const { loop, rounds } = createLoop([true, true, true]);
  for (let wake = 0; wake < 10; wake++) loop.wake();
  await settle();
  expect(rounds()).toBe(2);
});

it('[OUT-8] rounds that find nothing move apart up to a bound, and a find resets that', async () => {
  const { loop, rounds } = createLoop([false, false, false, false, false, true], 20);
  const at: number[] = [];
  for (let ms = 0; ms < 100; ms++) {
    const before = rounds();
    loop.wake();
    await vi.advanceTimersByTimeAsync(1);
    if (rounds() > before) at.push(ms);
  }
  const gaps = at.slice(1).map((ms, index) => ms - (at[index] as number));
  expect(gaps.slice(0, 4).every((gap, index) => index === 0 || gap >= (gaps[index - 1] as number))).toBe(
    true,
  );
  expect(Math.max(...gaps)).toBeLessThanOrEqual(21);
  expect(rounds()).toBeLessThan(15);
});

it('[OUT-8] after a pause the first wake starts a round at once', async () => {
  const { loop, rounds } = createLoop([], 50);
  for (let wake = 0; wake < 6; wake++) {
    loop.wake();
    await vi.advanceTimersByTimeAsync(60);
  }
  const before = rounds();
  await vi.advanceTimersByTimeAsync(60);
  loop.wake();
  await settle();
  expect(rounds()).toBe(before + 1);
});

it('[OUT-8] a round that throws is told, and the next wake starts another', async () => {
  const { loop, rounds, errors } = createLoop([new Error('away'), true]);
  loop.wake();
  await settle();
  loop.wake();
  await settle();
  expect([rounds(), errors]).toEqual([2, ['away']]);
});

it('[OUT-8] after a stop there is no round, and a stop waits for the one in flight', async () => {
  const { loop, rounds } = createLoop([]);
  loop.wake();
  await loop.stop();
  await loop.stop();
  loop.wake();
  await settle();
  expect(rounds()).toBe(1);
});

it('[OUT-8] run resolves when no round is left, also where one was asked for during the last', async () => {
  let rounds = 0;
  let inFlight = 0;
  const loop: Loop = new Loop({
    round: async () => {
      rounds += 1;
      inFlight += 1;
      await Promise.resolve();
      if (rounds < 4) loop.wake();
      inFlight -= 1;
      return true;
    },
    onError: () => {},
    leastRestMs: 50,
  });
  loop.wake();
  await loop.run();
  expect([rounds, inFlight]).toEqual([4, 0]);
});
