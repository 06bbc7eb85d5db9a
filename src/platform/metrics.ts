import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Pool } from './db.ts';

export type Metrics = Registry;
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export function createMetrics(): Metrics {
  return new Registry();
}

export function counter<L extends string>(
  metrics: Metrics,
  name: string,
  help: string,
  labelNames: L[] = [],
): Counter<L> {
  return new Counter({ name, help, labelNames, registers: [metrics] });
}

export function histogram(metrics: Metrics, name: string, help: string, buckets: number[]): Histogram {
  return new Histogram({ name, help, buckets, registers: [metrics] });
}

/** A gauge that is read when somebody asks. */
export function gauge(metrics: Metrics, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      this.set(read());
    },
  });
}

/** Connections of each pool by state; one gauge for all pools of a process. */
export function poolMetrics(metrics: Metrics, pools: Readonly<Record<string, Pool>>): void {
  new Gauge({
    name: 'posthorn_pool_connections',
    help: 'Database connections by pool and state; waiting counts requests for one',
    labelNames: ['pool', 'state'],
    registers: [metrics],
    collect() {
      for (const [name, pool] of Object.entries(pools)) {
        this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
        this.set({ pool: name, state: 'idle' }, pool.idleCount);
        this.set({ pool: name, state: 'waiting' }, pool.waitingCount);
      }
    },
  });
}

/** The Prometheus text of this process and of those whose last snapshots are given. */
export async function metricsText(metrics: Metrics, others: readonly MetricsSnapshot[]): Promise<string> {
  return AggregatorRegistry.aggregate([await metrics.getMetricsAsJSON(), ...others]).metrics();
}
