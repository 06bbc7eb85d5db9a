import { join } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import { Commands, sweepCommandFolders } from '../platform/commands/index.ts';
import { makeFolder } from '../platform/data-dir.ts';
import type { Log } from '../platform/log.ts';
import { createNameLookup } from '../platform/name-lookup.ts';
import { createExecHandler } from './exec-handler.ts';
import { createHandlerSecrets } from './handler-files.ts';
import type { HandlerConfig } from './handler-settings.ts';
import type { Handler } from './handlers.ts';
import { createHttpHandler } from './http-handler.ts';

const defaultConcurrency = 10;
const defaultDeaths = 3;

export type FileHandlers = { readonly handlers: Handler[]; stop(): Promise<void> };

/** The handlers that the configuration file describes without a module, and what they need while they run. */
export async function createFileHandlers(
  configs: readonly HandlerConfig[],
  { folder, dataDir, clock, log }: { folder: string; dataDir: string; clock: Clock; log: Log },
): Promise<FileHandlers> {
  const base = join(dataDir, 'exec');
  // Also where no command is left in the configuration: bodies must not stay behind.
  for (const kept of await sweepCommandFolders(base))
    log.warn({ event: 'exec.folder_kept', folder: kept }, `${kept} holds bodies and cannot be deleted`);
  const commands = configs.some(({ exec }) => exec !== undefined) ? createCommands(base) : undefined;
  const secrets = createHandlerSecrets(configs, { folder, dataDir, log });
  const lookup = createNameLookup();
  const closers: (() => void)[] = [];
  const handlers = configs.flatMap((config): Handler[] => {
    const { name, source = '', events = ['*'], maxDeaths = defaultDeaths, http, exec } = config;
    const concurrency = config.concurrency ?? (exec === undefined ? defaultConcurrency : 1);
    const common = { name, source, patterns: events, concurrency, maxDeaths };
    if (exec !== undefined && commands !== undefined)
      return [{ ...common, ...createExecHandler(exec, { commands, folder }) }];
    if (http === undefined) return [];
    const { close, ...made } = createHttpHandler(http, { secrets: () => secrets.of(name), clock, lookup });
    closers.push(close);
    return [{ ...common, ...made }];
  });
  secrets.start();
  return {
    handlers,
    stop: async () => {
      secrets.stop();
      for (const close of closers) close();
      lookup.cancel();
      await commands?.stop();
    },
  };
}

function createCommands(base: string): Commands {
  try {
    makeFolder(base, 0o700);
    return new Commands(base);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new Error(
      `The folder ${base}, where commands find the bodies of webhooks, cannot be used (${reason}); let the user of posthorn write there, or set dataDir.`,
      { cause },
    );
  }
}
