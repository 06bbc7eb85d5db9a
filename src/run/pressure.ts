import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const lookEveryMs = 100;
const resolutionMs = 5;
/** A process that uses less than this share of a core has few senders waiting, and may get to them a little later. */
const busyShare = 0.4;
/** One turn of the event loop in ten is later than this only where the cores are short. */
const lateMs = { busy: 1.2, idle: 8 };

/**
 * Watches whether this process gets to its work in time, and tells ten times a second. A gateway whose event loop is late
 * makes senders wait; the worker on the same cores should then take less.
 */
export function watchPressure(tell: (isPressed: boolean) => void): { stop(): void } {
  const delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let used = process.cpuUsage();
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(used);
    const share = (user + system) / 1_000 / (performance.now() - lookedAt);
    used = process.cpuUsage();
    lookedAt = performance.now();
    const late = delay.percentile(90) / 1e6 - resolutionMs;
    delay.reset();
    tell(late > (share > busyShare ? lateMs.busy : lateMs.idle));
  }, lookEveryMs);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      delay.disable();
    },
  };
}
