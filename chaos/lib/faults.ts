import { setTimeout as wait } from 'node:timers/promises';
import { signal } from '../../test/support/processes.ts';
import type { ChaosPostgres } from './cluster.ts';
import type { Fleet } from './fleet.ts';
import { hurtPostgres } from './postgres-faults.ts';
import type { Random } from './random.ts';
import { dealFaults, type Fault, type FaultKind, kindsOf, type Lane, lanesOf } from './schedule.ts';
import type { Role, ServerProcess } from './server-process.ts';

/** How long a fault waits for a process that it can meet. */
const patienceMs = 15_000;

export type FaultOptions = {
  readonly random: Random;
  readonly forMs: number;
  readonly isBrief: boolean;
  readonly leftOut: ReadonlySet<FaultKind>;
  readonly disk: string;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
};

/** Deals faults in all lanes until the time is over and each lane has dealt each of its kinds once. */
export class Faults {
  readonly counts = new Map<FaultKind, number>();
  readonly #fleet: Fleet;
  readonly #postgres: ChaosPostgres;
  readonly #options: FaultOptions;
  /** The two lanes that touch PostgreSQL take turns. */
  #postgresIsFree: Promise<void> = Promise.resolve();

  constructor(parts: { fleet: Fleet; postgres: ChaosPostgres }, options: FaultOptions) {
    this.#fleet = parts.fleet;
    this.#postgres = parts.postgres;
    this.#options = options;
  }

  get total(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  async run(): Promise<void> {
    const until = performance.now() + this.#options.forMs;
    await Promise.all(lanesOf(this.#options.isBrief).map((lane) => this.#runLane(lane, until)));
  }

  async #runLane(lane: Lane, until: number): Promise<void> {
    const wanted = new Set<FaultKind>(lane === 'long' ? [] : kindsOf(lane, this.#options.leftOut));
    const latest = until + 30_000;
    for (const fault of dealFaults(lane, this.#options)) {
      const now = performance.now() + fault.waitMs;
      if (
        (now > until && wanted.size === 0) ||
        now > latest ||
        (lane === 'long' && now + fault.forMs > until)
      )
        return;
      await wait(fault.waitMs, undefined, { signal: this.#options.signal });
      if (!(await this.#carryOut(lane, fault))) continue;
      this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
      wanted.delete(fault.kind);
    }
  }

  async #carryOut(lane: Lane, fault: Fault): Promise<boolean> {
    const { tell } = this.#options;
    if (lane === 'processes') return this.#killOne(fault);
    if (fault.kind === 'worker paused beyond its lease') return this.#pauseWorker(fault);
    const turn = this.#postgresIsFree;
    let free = () => {};
    this.#postgresIsFree = new Promise((resolve) => {
      free = resolve;
    });
    await turn;
    const started = performance.now();
    try {
      await hurtPostgres(fault.kind, {
        postgres: this.#postgres,
        disk: this.#options.disk,
        forMs: fault.forMs,
      });
      tell(`PostgreSQL ${fault.kind}: back after ${Math.round(performance.now() - started)} ms`);
      return true;
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      tell(`PostgreSQL ${fault.kind}: ${(error as Error).message}`);
      await this.#postgres.start();
      return false;
    } finally {
      free();
    }
  }

  async #killOne(fault: Fault): Promise<boolean> {
    const server = await this.#find(fault.kind === 'gateway killed' ? 'gateway' : 'worker', fault);
    if (server === undefined) return false;
    const pid = fault.kind === 'worker child killed' ? server.childPid : server.pid;
    const isDone = pid === server.pid ? server.kill() : signal(pid, 'SIGKILL');
    if (isDone) this.#options.tell(`${fault.kind}: ${server.name}, process ${pid}`);
    return isDone;
  }

  async #pauseWorker(fault: Fault): Promise<boolean> {
    const server = await this.#find('worker', fault);
    if (server === undefined) return false;
    server.pause();
    this.#options.tell(`worker paused: ${server.name} for ${fault.forMs} ms`);
    await wait(fault.forMs, undefined, { signal: this.#options.signal });
    await server.resume(fault.forMs % 1_500);
    this.#options.tell(`worker goes on: ${server.name}`);
    return true;
  }

  /** The one that the fault names if it is up, else the other; waits for one a while. */
  async #find(role: Role, { which, kind }: Fault): Promise<ServerProcess | undefined> {
    const until = performance.now() + patienceMs;
    while (performance.now() < until) {
      const [first, second] = this.#fleet.of(role);
      const inOrder = which === 0 ? [first, second] : [second, first];
      const found = inOrder.find(
        (server) =>
          server?.isReady &&
          !server.isPaused &&
          (kind !== 'worker child killed' || server.childPid !== undefined),
      );
      if (found !== undefined) return found;
      await wait(100, undefined, { signal: this.#options.signal });
    }
    return undefined;
  }
}
