import { type Pool, sqlState } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { insertJournalRows, type JournalRow } from './journal-store.ts';

export type { JournalRow } from './journal-store.ts';

/** `unstorable`: PostgreSQL refuses this row for its data. `unavailable`: not stored, the sender should come back. */
export type Recorded = 'recorded' | 'duplicate' | 'unstorable' | 'unavailable';

export type Journal = {
  /** Resolves once the row is durably committed, or it is known that it is not. Never rejects. */
  record(row: JournalRow): Promise<Recorded>;
};

export type JournalMetrics = { batchWritten(rows: number): void };

type Entry = {
  readonly row: JournalRow;
  readonly giveUpAt: number;
  answer: ((recorded: Recorded) => void) | undefined;
};

const mostRowsPerBatch = 64;
const mostBytesPerBatch = 4 * 1024 * 1024;
/** So many rows do not wait for more: not for the end of the turn, nor for the batch in flight. */
const eagerRows = 24;
const mostBatchesInFlight = 2;
const mostWaitingRows = 10_000;
const sweepMs = 50;

/**
 * The group-commit writer. It gathers what arrived since the last commit into one insert; a second one starts beside it
 * only when it is worth a statement. Latency stays low when idle, throughput high under load, and memory bounded always.
 */
export class JournalWriter implements Journal {
  readonly #pool: Pool;
  readonly #log: Log;
  readonly #named: boolean;
  readonly #answerDeadlineMs: number;
  readonly #metrics: JournalMetrics | undefined;
  readonly #onCommitted: () => void;
  #waiting: Entry[] = [];
  #inFlight = new Set<readonly Entry[]>();
  #isScheduled = false;
  #sweep: NodeJS.Timeout | undefined;
  #drained: (() => void)[] = [];

  constructor(deps: {
    pool: Pool;
    log: Log;
    /** Every record is answered within this, stored or not. */
    answerDeadlineMs: number;
    /** Whether statements may be named (not behind a transaction-mode pooler). */
    named: boolean;
    metrics?: JournalMetrics;
    /** Called after each commit that wrote rows: the moment to wake workers. */
    onCommitted?: () => void;
  }) {
    this.#pool = deps.pool;
    this.#log = deps.log;
    this.#named = deps.named;
    this.#answerDeadlineMs = deps.answerDeadlineMs;
    this.#metrics = deps.metrics;
    this.#onCommitted = deps.onCommitted ?? (() => {});
  }

  /** Rows that wait for a batch or are in one. */
  get depth(): number {
    let rows = this.#waiting.length;
    for (const batch of this.#inFlight) rows += batch.length;
    return rows;
  }

  get isFull(): boolean {
    return this.depth >= mostWaitingRows;
  }

  record(row: JournalRow): Promise<Recorded> {
    if (this.isFull) return Promise.resolve('unavailable');
    return new Promise((answer) => {
      this.#waiting.push({ row, giveUpAt: performance.now() + this.#answerDeadlineMs - 2 * sweepMs, answer });
      this.#sweep ??= setInterval(() => this.#giveUpLate(), sweepMs);
      this.#schedule();
    });
  }

  /** Resolves when everything taken so far is answered. */
  drain(): Promise<void> {
    if (this.depth === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /**
   * At the end of this turn of the event loop, so that requests that arrived together share a batch; at once when
   * enough have come, so that the database works while the rest of a burst is still being read. Without that, all
   * connections would soon wait for one common batch, and gateway and database would take turns.
   */
  #schedule(): void {
    if (!this.#mayStart) return;
    if (this.#waiting.length >= eagerRows) {
      this.#start();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#start();
      });
    }
  }

  get #mayStart(): boolean {
    const leastRows = this.#inFlight.size === 0 ? 1 : eagerRows;
    return this.#inFlight.size < mostBatchesInFlight && this.#waiting.length >= leastRows;
  }

  #start(): void {
    while (this.#mayStart) void this.#write(this.#takeBatch());
  }

  #takeBatch(): Entry[] {
    let rows = 0;
    let bytes = 0;
    while (rows < mostRowsPerBatch && rows < this.#waiting.length) {
      bytes += (this.#waiting[rows] as Entry).row.body.length;
      if (rows > 0 && bytes > mostBytesPerBatch) break;
      rows++;
    }
    return this.#waiting.splice(0, rows);
  }

  async #write(batch: Entry[]): Promise<void> {
    this.#inFlight.add(batch);
    try {
      await this.#store(onePerKey(batch));
    } finally {
      this.#inFlight.delete(batch);
      this.#schedule();
      if (this.depth === 0) this.#rest();
    }
  }

  /** Stores groups of entries; each group is one key, whose first entry is written and whose others are copies. */
  async #store(groups: Entry[][], isRetry = false): Promise<void> {
    try {
      const rows = groups.map((group) => (group[0] as Entry).row);
      const duplicates = await insertJournalRows(this.#pool, rows, { named: this.#named });
      this.#metrics?.batchWritten(rows.length);
      if (duplicates.size < rows.length) this.#onCommitted();
      for (const [index, group] of groups.entries()) {
        for (const [copy, entry] of group.entries()) {
          settle(entry, copy === 0 && !duplicates.has(index) ? 'recorded' : 'duplicate');
        }
      }
    } catch (error) {
      const state = sqlState(error);
      // Another writer's batch overlapped with this one: the same batch simply goes again.
      if ((state === '40P01' || state === '40001') && !isRetry) return this.#store(groups, true);
      await this.#settleFailure(groups, error as Error, state);
    }
  }

  /** A data error is one row's fault: halving finds it, and the others are stored. Anything else is storage's. */
  async #settleFailure(groups: Entry[][], error: Error, state: string | undefined): Promise<void> {
    const isData = state !== undefined && (state.startsWith('22') || state.startsWith('23'));
    if (isData && groups.length > 1) {
      const middle = groups.length >> 1;
      await this.#store(groups.slice(0, middle));
      return this.#store(groups.slice(middle));
    }
    if (isData) {
      const { source, size } = ((groups[0] as Entry[])[0] as Entry).row;
      this.#log.error(
        { event: 'journal.row_refused', state, source, size },
        'PostgreSQL refused a journal row',
      );
    } else {
      const rows = groups.length;
      this.#log.error(
        { event: 'journal.write_failed', state, reason: error.message, rows },
        'the journal could not be written; its senders get 503',
      );
    }
    const recorded = isData && state.startsWith('22') ? 'unstorable' : 'unavailable';
    for (const group of groups) for (const entry of group) settle(entry, recorded);
  }

  /** Waiting rows that are late are dropped; rows in flight are only answered: they may yet be stored, which is harmless. */
  #giveUpLate(): void {
    const now = performance.now();
    let late = 0;
    while (late < this.#waiting.length && (this.#waiting[late] as Entry).giveUpAt <= now) late++;
    for (const entry of this.#waiting.splice(0, late)) settle(entry, 'unavailable');
    for (const batch of this.#inFlight) {
      for (const entry of batch) if (entry.giveUpAt <= now) settle(entry, 'unavailable');
    }
    if (this.depth === 0) this.#rest();
  }

  #rest(): void {
    clearInterval(this.#sweep);
    this.#sweep = undefined;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}

function settle(entry: Entry, recorded: Recorded): void {
  entry.answer?.(recorded);
  entry.answer = undefined;
}

/** Copies of one key inside a batch share its outcome: one is written, the others are duplicates of it (IN-3). */
function onePerKey(batch: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  const byKey = new Map<string, Entry[]>();
  for (const entry of batch) {
    const { source, eventId } = entry.row;
    if (eventId === null) {
      groups.push([entry]);
      continue;
    }
    const key = `${source} ${eventId}`;
    const group = byKey.get(key);
    if (group !== undefined) {
      group.push(entry);
      continue;
    }
    const fresh = [entry];
    byKey.set(key, fresh);
    groups.push(fresh);
  }
  return groups;
}
