import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPool, type Pool } from '../../src/platform/db.ts';
import { quietLog } from './database.ts';
import { testSecret } from './gateway.ts';
import { waitFor } from './wait-for.ts';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
const program = join(repository, 'dist/cli/posthorn.js');

/** A folder for one server: configuration, secret, handlers and data directory. Readable for PostgreSQL's own user. */
export class Installation {
  readonly folder: string;
  readonly dataDir: string;
  #servers: Server[] = [];

  constructor(config: string, files: Record<string, string> = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'posthorn-journey-'));
    chmodSync(this.folder, 0o755);
    this.dataDir = join(this.folder, 'data');
    writeFileSync(join(this.folder, 'posthorn.yaml'), config);
    writeFileSync(join(this.folder, 'secret'), testSecret, { mode: 0o600 });
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(this.folder, name, '..'), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** Starts a server and waits until it is ready. Ports stay the same over restarts if they are given. */
  async serve(
    options: { port?: number; adminPort?: number; args?: string[]; env?: Record<string, string> } = {},
  ): Promise<Server> {
    const { port = 0, adminPort = 0, args = [] } = options;
    const server = new Server(
      ['serve', '--port', String(port), '--admin-port', String(adminPort), ...args],
      this.folder,
      { POSTHORN_DATA_DIR: this.dataDir, ...options.env },
    );
    this.#servers.push(server);
    await server.ready();
    return server;
  }

  /** Runs a command to its end. */
  async run(
    args: string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number | null; out: string; err: string }> {
    const command = new Server(args, this.folder, { POSTHORN_DATA_DIR: this.dataDir, ...env });
    this.#servers.push(command);
    const code = await command.exited;
    return { code, out: command.out, err: command.err };
  }

  /** A pool on the embedded database of this installation; the caller ends it. */
  pool(): Pool {
    return createPool({ address: this.connection(), name: 'test', most: 3, log: quietLog });
  }

  connection() {
    return JSON.parse(readFileSync(join(this.dataDir, 'postgres/connection.json'), 'utf8'));
  }

  /** The process id of the running postmaster. */
  postmasterPid(): number {
    return Number(readFileSync(join(this.dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) await server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Server {
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;
  out = '';
  err = '';

  constructor(args: string[], folder: string, env: Record<string, string>) {
    const { DATABASE_URL: _url, POSTHORN_CONFIG: _config, ...inherited } = process.env;
    this.process = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      env: { ...inherited, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.exited = new Promise((resolve) => this.process.on('close', (code) => resolve(code)));
  }

  get port(): number {
    return Number(/webhooks {2}http:\/\/[^:]+:(\d+)/.exec(this.out)?.[1]);
  }

  get adminPort(): number {
    return Number(/admin {5}http:\/\/[^:]+:(\d+)/.exec(this.out)?.[1]);
  }

  async ready(): Promise<void> {
    await waitFor(
      'the server to be ready',
      () => {
        if (this.process.exitCode !== null)
          throw new Error(`the server ended with ${this.process.exitCode}: ${this.err}${this.out}`);
        return this.out.includes('Posthorn is ready.');
      },
      { withinMs: 45_000 },
    );
  }

  /** The log lines that are JSON, with this event. */
  logged(event: string): Record<string, unknown>[] {
    return this.out
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line));
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.process.kill(signal);
    return this.exited;
  }

  async stop(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGTERM');
    return this.exited;
  }
}
