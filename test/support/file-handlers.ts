import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import {
  createFileHandlers,
  type FileHandlers,
  type Handler,
  handlersSchema,
} from '../../src/inbound/index.ts';
import type { Log } from '../../src/platform/log.ts';
import { quietLog } from './database.ts';
import { waitFor } from './wait-for.ts';

// The shim is forked with what this process was started with; here it is TypeScript.
process.execArgv = ['--import', import.meta.resolve('tsx')];

type Clock = { now(): number };

/** Registers hooks: a folder for scripts and what they write, and file handlers that are stopped after each test. */
export function useFileHandlers(clock: Clock) {
  let root = '';
  let made: FileHandlers[] = [];
  const path = (name: string) => join(root, 'home', name);
  const dataDir = () => join(root, 'data');
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'posthorn-file-handlers-'));
    mkdirSync(path(''));
  });
  afterEach(async () => {
    for (const handlers of made) await handlers.stop();
    made = [];
    rmSync(root, { recursive: true, force: true });
  });
  const make = async (entry: object, log: Log = quietLog): Promise<Handler> => {
    const configs = handlersSchema.parse([{ name: 'app', source: 'github', ...entry }]);
    const handlers = await createFileHandlers(configs, { folder: path(''), dataDir: dataDir(), clock, log });
    made.push(handlers);
    return handlers.handlers[0] as Handler;
  };
  return {
    path,
    make,
    /** The handler that runs this shell script, with more keys of `exec`. */
    script: (text: string, exec: object = {}, entry: object = {}) => {
      writeFileSync(path('script'), `#!/bin/sh\n${text}\n`);
      chmodSync(path('script'), 0o755);
      return make({ exec: { command: ['./script'], ...exec }, ...entry });
    },
    read: (name: string) => readFileSync(path(name), 'utf8'),
    /** Waits until a script has written a file, and gives its text. */
    written: (name: string) => waitFor(`the script to write ${name}`, () => readOr(path(name)) || undefined),
    dataDir,
    /** Every body below the data directory. */
    bodies: () =>
      readdirSync(dataDir(), { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('payload'),
      ),
    stopAll: async () => {
      for (const handlers of made.splice(0)) await handlers.stop();
    },
  };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A process that is gone, or only waits to be collected, is not alive. */
export function isAlive(pid: number | string): boolean {
  const stat = readOr(`/proc/${pid}/stat`);
  return stat !== '' && stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
}
