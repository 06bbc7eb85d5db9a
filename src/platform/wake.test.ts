import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { throttle } from './wake.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('[OUT-8] the first wake of a burst is sent at once, then one in 20 ms, the last always', () => {
  const sentAt: number[] = [];
  const start = Date.now();
  const { wake, stop } = throttle(20, () => sentAt.push(Date.now() - start));
  for (let ms = 0; ms <= 50; ms += 5) {
    wake();
    vi.advanceTimersByTime(5);
  }
  vi.advanceTimersByTime(200);
  expect(sentAt).toEqual([0, 20, 40, 60]);
  wake();
  expect(sentAt).toHaveLength(5);
  stop();
});
