import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const lookEveryMs = 100;
const resolutionMs = 5;
/** Nine of ten turns of the event loop come later than this by themselves only where the cores are short. */
const pressedMs = 2.5;

/**
 * Watches whether this process gets to its work in time, and tells ten times a second. A gateway whose event loop is late
 * makes senders wait; the worker on the same cores should then take less.
 */
export function watchPressure(tell: (isPressed: boolean) => void): { stop(): void } {
  const delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const timer = setInterval(() => {
    const lateMs = delay.percentile(90) / 1e6 - resolutionMs;
    delay.reset();
    tell(lateMs > pressedMs);
  }, lookEveryMs);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      delay.disable();
    },
  };
}
