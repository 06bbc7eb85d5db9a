import { printTable } from '../../bench/lib/results.ts';
import type { FaultKind } from './schedule.ts';
import type { Verdict } from './verdict.ts';

/** Everything that a run ends with; also what is written for machines. */
export type Report = {
  readonly seed: number;
  readonly minutes: number;
  readonly sent: { events: number; requests: number; sentAgainOnPurpose: number; acknowledged: number };
  readonly answers: Record<string, number>;
  readonly verdict: Verdict;
  readonly isDrained: boolean;
  readonly drainedAfterSeconds: number;
  readonly faults: Partial<Record<FaultKind, number>>;
  readonly startedAtOnce: number;
  readonly clock: { jumps: number; starts: number };
  readonly servers: {
    endedWhileStarting: number;
    endedByThemselves: number;
    childrenEndedByThemselves: number;
    stoppedGently: number;
  };
  readonly postgresFailedStarts: number;
  readonly leftOut: readonly string[];
};

/** Nothing acknowledged may be lost, doubled or unfinished. */
export function isGood({ verdict, isDrained }: Report): boolean {
  const { lost, doubledEffects, acknowledgedWithoutRow, notSuccess } = verdict;
  return isDrained && lost + doubledEffects + acknowledgedWithoutRow + notSuccess === 0;
}

export function printReport(report: Report): void {
  const { sent, answers, verdict, faults, clock, servers } = report;
  const rows: [string, string | number][] = [
    ['events sent', sent.events],
    ['requests', sent.requests],
    ['acknowledged', sent.acknowledged],
    ['sent again on purpose', sent.sentAgainOnPurpose],
    ...Object.entries(answers)
      .filter(([answer]) => !/^2/.test(answer))
      .sort()
      .map(([answer, count]): [string, number] => [nameOfAnswer(answer), count]),
    ['stored', verdict.rows],
    ['run once', verdict.runOnce],
    ['repeated (handler without tx)', verdict.repeatedPlain],
    ['tx effects doubled', verdict.doubledEffects],
    ['lost', verdict.lost],
    ['2xx without a row', verdict.acknowledgedWithoutRow],
    ['out of order', 'not promised'],
    ['stuck in processing', verdict.stuckInProcessing],
    ['drained', report.isDrained ? `after ${report.drainedAfterSeconds} s` : 'NOT'],
    ...Object.entries(faults)
      .sort()
      .map(([kind, count]): [string, number] => [`fault: ${kind}`, count]),
    ['fault: clock jumps', `${clock.jumps} in ${clock.starts} processes`],
    ['fault: started at the same instant', report.startedAtOnce],
    ['servers that ended while starting', servers.endedWhileStarting],
    ['servers that ended by themselves', servers.endedByThemselves],
    ["workers' children that ended by themselves", servers.childrenEndedByThemselves],
    ['servers that stopped gently', servers.stoppedGently],
    ['starts of PostgreSQL that failed', report.postgresFailedStarts],
    ...report.leftOut.map((what): [string, string] => ['left out', what]),
    ['seed', report.seed],
  ];
  console.log('');
  printTable(rows.map(([figure, value]) => ({ figure, value })));
  for (const [what, ids] of Object.entries(verdict.examples))
    console.log(`${what}, for example: ${ids.join(', ')}`);
  console.log(isGood(report) ? '\nnothing was lost or doubled' : '\nNOT GOOD: see the rows above');
}

function nameOfAnswer(answer: string): string {
  if (answer === '401') return 'refused 401 (a stale timestamp), sent again';
  return `${/^\d/.test(answer) ? 'refused ' : ''}${answer}, sent again`;
}
