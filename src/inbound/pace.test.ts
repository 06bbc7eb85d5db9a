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
  it('[PERF-3] where nobody judges everything may start', () => {
    expect(new Pace(() => 0).allowed(1_000)).toBe(1_000);
  });

  it('[PERF-3] without pressure the limit begins at rest, rises while it is reached, and comes back to rest', () => {
    const { pace, tenth } = createPace();
    tenth(false);
    expect(pace.perSecond).toBe(1_000);
    expect(tenth(false)).toBeLessThanOrEqual(120);
    for (let more = 0; more < 30; more++) tenth(false);
    expect(pace.perSecond).toBeGreaterThan(5_000);
    for (let more = 0; more < 60; more++) tenth(false, 0);
    expect(pace.perSecond).toBe(1_000);
    expect(pace.isPressed).toBe(false);
  });

  it('[PERF-3] pressure lowers what may start from what did start, down to a floor that is always allowed', () => {
    const { pace, tenth } = createPace();
    tenth(false);
    tenth(false);
    expect(tenth(true)).toBeGreaterThan(90);
    expect(pace.perSecond).toBeGreaterThan(650);
    expect(pace.perSecond).toBeLessThan(850);
    expect(tenth(true)).toBeGreaterThan(50);
    for (let more = 0; more < 20; more++) tenth(true);
    expect(pace.perSecond).toBe(200);
    const floor = [tenth(true), tenth(true), tenth(true), tenth(true), tenth(true)];
    expect(floor.reduce((sum, started) => sum + started)).toBeGreaterThanOrEqual(98);
    expect(Math.max(...floor)).toBeLessThanOrEqual(24);
  });

  it('[PERF-3] when the pressure is gone the limit rises to where it rests, also when it is not reached', () => {
    const { pace, tenth } = createPace();
    tenth(true, 1);
    expect(pace.isPressed).toBe(true);
    let tenths = 0;
    while (pace.isPressed && tenths < 200) {
      tenth(false, 0);
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
