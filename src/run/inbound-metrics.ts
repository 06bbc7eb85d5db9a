import type { ReceiveOutcome } from '../core/outcome.ts';
import type { InboundMetrics, JournalMetrics } from '../inbound/index.ts';
import { counter, gauge, histogram, type Metrics } from '../platform/metrics.ts';

const latencyBuckets = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/**
 * Requests by source and outcome, and how long an answer took. Labels come only from the configuration: codes that
 * nobody registered count as one, so that a scanner cannot make a series each.
 */
export function inboundMetrics(metrics: Metrics, codes: readonly string[]): InboundMetrics {
  const requests = counter(metrics, 'posthorn_requests_total', 'Webhook requests by source and outcome', [
    'source',
    'outcome',
  ]);
  const seconds = histogram(
    metrics,
    'posthorn_ingest_seconds',
    'From the head of a webhook request to its answer',
    latencyBuckets,
  );
  const known = new Set(codes);
  const counted = new Map<string, { inc(): void }>();
  return {
    answered(source, outcome: ReceiveOutcome, tookSeconds) {
      const label = known.has(source) ? source : 'unknown';
      const key = `${label} ${outcome}`;
      let series = counted.get(key);
      if (series === undefined) {
        series = requests.labels(label, outcome);
        counted.set(key, series);
      }
      series.inc();
      seconds.observe(tookSeconds);
    },
  };
}

/** Sizes of batches and the depth of the writer's queue. */
export function journalMetrics(metrics: Metrics, depth: () => number): JournalMetrics {
  const rows = histogram(
    metrics,
    'posthorn_journal_batch_rows',
    'Rows of one commit of the journal',
    [1, 2, 4, 8, 16, 32, 64],
  );
  gauge(
    metrics,
    'posthorn_journal_queue_rows',
    'Rows that wait for a commit of the journal or are in one',
    depth,
  );
  return { batchWritten: (count) => rows.observe(count) };
}
