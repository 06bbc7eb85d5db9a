import { patternsToRegex } from '../core/pattern.ts';
import type { Handler } from './handlers.ts';
import type { Listeners } from './listeners.ts';
import { Pace } from './pace.ts';
import { Planner } from './plan.ts';
import { Work, type WorkDeps } from './work.ts';

export type InboundWorker = {
  start(): void;
  /** There may be new events. */
  wake(): void;
  /** Told every tenth of a second by a gateway on the same machine: whether ingest is under pressure. */
  judge(isPressed: boolean): void;
  /** Takes no more, lets handlers end for `graceMs`, then gives their runs back. Twice is fine. */
  stop(graceMs: number): Promise<void>;
};

/** Inbound's share of the worker: accepted events become runs (plan), runs are claimed and run (work). */
export function createInboundWorker(
  handlers: readonly Handler[],
  {
    holder,
    sourceIds,
    listeners,
  }: { holder: string; sourceIds: ReadonlyMap<string, number>; listeners: Listeners },
  deps: Omit<WorkDeps, 'pace' | 'onFailed' | 'onEmpty'>,
): InboundWorker & { readonly planner: Planner; readonly work: Work } {
  const pace = new Pace();
  const work: Work = new Work(
    handlers,
    { holder },
    {
      ...deps,
      pace,
      onFailed: (run) => listeners.tell('failed', run),
      onEmpty: () => {
        if (pace.isPressed) planner.wake();
      },
    },
  );
  const subscriptions = handlers.map(({ name, source, patterns }) => ({
    handler: name,
    source: sourceIds.get(source) as number,
    regex: patternsToRegex(patterns),
  }));
  const isPressed = () => pace.isPressed;
  const isPutOff = (handler: string) => pace.isPressed && work.hasWaiting(handler);
  const planner: Planner = new Planner(subscriptions, { ...deps, isPressed, isPutOff }, (events) => {
    work.wake({ isCertain: true });
    for (const event of events) listeners.tell('received', event);
  });
  return {
    planner,
    work,
    start: () => {
      planner.start();
      work.start();
    },
    // The planner wakes the work when it has found some.
    wake: () => planner.wake(),
    judge: (isPressed) => pace.judge(isPressed),
    stop: async (graceMs) => {
      await planner.stop();
      await work.stop(graceMs);
    },
  };
}
