import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Random } from './random.ts';
import { type Role, ServerProcess } from './server-process.ts';

export const secret = 'a-secret-of-the-fault-test-0123456789';

const configuration = `
sources:
  chaos:
    scheme:
      hmac: sha256
      header: X-Signature
      encoding: hex
      signed: "{timestamp}.{body}"
      timestamp: { header: X-Timestamp, unit: s }
      eventId: { header: X-Event-Id }
      eventType: { value: chaos.sent }
    secretFile: secret
    toleranceSeconds: 300
handlers:
  - { name: chaos, module: ${JSON.stringify(fileURLToPath(new URL('../handlers.mjs', import.meta.url)))} }
log: { level: warn }
`;

export type FleetOptions = {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly random: Random;
  /** Whose wall clocks may jump. */
  readonly clocks: readonly Role[];
  /** Milliseconds since 1970 at which all clocks are right again. */
  readonly clocksUntil: number;
};

/** Two gateways and two workers over one database. */
export class Fleet {
  readonly servers: readonly ServerProcess[];
  readonly plainFile: string;
  readonly #jumpsFile: string;
  readonly #options: FleetOptions;

  constructor(options: FleetOptions) {
    const { folder, random } = options;
    this.#options = options;
    this.plainFile = join(folder, 'plain-runs.txt');
    this.#jumpsFile = join(folder, 'clock-jumps.txt');
    writeFileSync(join(folder, 'posthorn.yaml'), configuration);
    writeFileSync(join(folder, 'secret'), secret, { mode: 0o600 });
    for (const file of [this.plainFile, this.#jumpsFile]) writeFileSync(file, '');
    const env = { DATABASE_URL: options.databaseUrl, POSTHORN_CHAOS_PLAIN_FILE: this.plainFile };
    this.servers = (['gateway', 'worker'] as const).flatMap((role) =>
      [1, 2].map((n) => {
        const name = `${role}-${n}`;
        return new ServerProcess(role, { folder, name, env, random: random.fork(name) });
      }),
    );
  }

  /** All at the same instant, on a database without a table: four migrations, two workers, two gateways at once. */
  async startAtOnce(withinMs: number): Promise<void> {
    for (const server of this.servers) server.start(this.#clockFor(server));
    if (!(await this.untilReady(withinMs)) || this.servers.some(({ ends }) => ends.whileStarting > 0))
      throw new Error(`the servers did not all start; their logs are in ${this.#options.folder}`);
  }

  /** Whether all servers are up within this time. */
  async untilReady(withinMs: number): Promise<boolean> {
    const until = performance.now() + withinMs;
    while (!this.servers.every(({ isReady }) => isReady)) {
      if (performance.now() > until) return false;
      await wait(50);
    }
    return true;
  }

  of(role: Role): ServerProcess[] {
    return this.servers.filter((server) => server.role === role);
  }

  /** Ports of the gateways that are up. */
  ports(): number[] {
    return this.of('gateway')
      .filter(({ isReady }) => isReady)
      .map(({ port }) => port);
  }

  /** What became of the processes; `childrenKilled` by chaos, so that the others are known. */
  summary(childrenKilled: number) {
    const sum = (pick: (server: ServerProcess) => number) =>
      this.servers.map(pick).reduce((total, count) => total + count, 0);
    const killedByParents = this.#logged('worker.stood_still');
    return {
      jumps: readFileSync(this.#jumpsFile, 'utf8').split('\n').length - 1,
      shiftedStarts: sum(({ shiftedStarts }) => shiftedStarts),
      endedWhileStarting: sum(({ ends }) => ends.whileStarting),
      endedByThemselves: sum(({ ends }) => ends.byItself),
      childrenEndedByThemselves: Math.max(0, this.#logged('worker.died') - killedByParents - childrenKilled),
      stoppedGently: sum(({ ends }) => ends.stoppedGently),
    };
  }

  async stop(options: { isHurried?: boolean } = {}): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(options)));
  }

  /** How often the servers said this in their logs. */
  #logged(event: string): number {
    return this.servers
      .map(({ logFile }) => readFileSync(logFile, 'utf8').split(`"event":"${event}"`).length - 1)
      .reduce((sum, count) => sum + count, 0);
  }

  /** The first start of the first of a role has a clock that jumps, and half of all later ones. */
  #clockFor(server: ServerProcess): () => string | undefined {
    const { clocks, clocksUntil: until, random } = this.#options;
    const draw = random.fork(`clock of ${server.name}`);
    let isFirst = server.name.endsWith('1');
    return () => {
      const isShifted = clocks.includes(server.role) && (isFirst || draw.next() < 0.5);
      isFirst = false;
      if (!isShifted || Date.now() >= until) return undefined;
      return JSON.stringify({ until, jumpsFile: this.#jumpsFile });
    };
  }
}
