import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

const handlers = { firstMs: 10_000, mostMs: 600_000, jitter: 0.2 };
const middle = () => 0.5;

it('[IN-15] the wait doubles from the first to the most', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((failures) => backoffMs(handlers, failures, middle) / 1000);
  expect(waits).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

it('[IN-15] ten attempts take about 40 minutes', () => {
  const waits = Array.from({ length: 9 }, (_, index) => backoffMs(handlers, index + 1, middle));
  const minutes = waits.reduce((sum, wait) => sum + wait, 0) / 60_000;
  expect(minutes).toBeGreaterThan(38);
  expect(minutes).toBeLessThan(42);
});

it('[IN-15] the wait is spread by the jitter, both ways, also at its most', () => {
  expect(backoffMs(handlers, 1, () => 0)).toBe(8_000);
  expect(backoffMs(handlers, 1, () => 1)).toBe(12_000);
  expect(backoffMs(handlers, 50, () => 0)).toBe(480_000);
  expect(backoffMs(handlers, 50, () => 1)).toBe(720_000);
  expect(backoffMs({ ...handlers, jitter: 0 }, 1, () => 0)).toBe(10_000);
});

it('[IN-15] the wait stays within its bounds by itself, and is a whole number however many failures there were', () => {
  for (const failures of [1, 2, 31, 32, 1_000, 1e9, Number.MAX_SAFE_INTEGER]) {
    const wait = backoffMs(handlers, failures);
    expect(Number.isInteger(wait)).toBe(true);
    expect(wait).toBeGreaterThanOrEqual(8_000);
    expect(wait).toBeLessThanOrEqual(720_000);
  }
  expect(new Set(Array.from({ length: 50 }, () => backoffMs(handlers, 1))).size).toBeGreaterThan(10);
});
