import { describe, expect, it } from 'vitest';
import { Pace } from './pace.ts';

function createPace() {
  const clock = { at: 0 };
  const pace = new Pace(() => clock.at);
  /** Starts what may start, every millisecond, for a tenth of a second; then judges. Gives how many started. */
  const tenth = (isPressed: boolean, wanted = 10) => {
    let started = 0;
    for (let ms = 0; ms < 100; ms++) {
      clock.at += 1;
      const now = pace.allowed(wanted);
      for (let run = 0; run < now; run++) pace.started();
      started += now;
    }
    pace.judge(isPressed);
    return started;
  };
  return { pace, tenth };
}

describe('pace', () => {
  it('[PERF-3] without pressure everything may start', () => {
    const { pace, tenth } = createPace();
    expect(tenth(false)).toBe(1_000);
    expect(pace.perSecond).toBe(Number.POSITIVE_INFINITY);
  });

  it('[PERF-3] pressure lowers what may start from what did start, down to a floor that is always allowed', () => {
    const { pace, tenth } = createPace();
    for (let second = 0; second < 100; second++) tenth(false);
    expect(tenth(true, 1)).toBe(100);
    expect(pace.perSecond).toBeCloseTo(750);
    expect(tenth(true)).toBeGreaterThan(60);
    for (let more = 0; more < 20; more++) tenth(true);
    expect(pace.perSecond).toBe(200);
    const floor = [tenth(true), tenth(true), tenth(true), tenth(true), tenth(true)];
    expect(floor.reduce((sum, started) => sum + started)).toBeGreaterThanOrEqual(98);
    expect(Math.max(...floor)).toBeLessThanOrEqual(24);
  });

  it('[PERF-3] when the pressure is gone the limit rises and is then forgotten', () => {
    const { pace, tenth } = createPace();
    tenth(true, 1);
    let tenths = 0;
    while (pace.isPressed && tenths < 200) {
      tenth(false);
      tenths += 1;
    }
    expect(pace.isPressed).toBe(false);
    expect(tenths).toBeLessThan(60);
  });

  it('[PERF-3] starts that were not used do not gather beyond a moment', () => {
    const { pace, tenth } = createPace();
    tenth(true, 1);
    for (let idle = 0; idle < 50; idle++) tenth(true, 0);
    expect(pace.allowed(1_000)).toBeLessThanOrEqual(4);
  });
});
