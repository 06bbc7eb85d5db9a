#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { AppError } from '../core/errors.ts';
import { eventsCommand } from './events.ts';
import { healthCommand } from './health.ts';
import { migrateCommand } from './migrate.ts';
import { serveCommand } from './serve.ts';

/** Every command: exit 0 done, 1 refused or failed, 2 wrong usage or configuration; an error is a sentence on stderr. */
async function main(args: readonly string[]): Promise<number> {
  const program = new Command('posthorn')
    .description('Self-hosted webhooks: receive, send, relay and prove, over one PostgreSQL')
    .version(version(), '-v, --version')
    .showHelpAfterError('(posthorn --help shows all commands)')
    .exitOverride();
  for (const command of [serveCommand(), migrateCommand(), eventsCommand(), healthCommand()]) {
    program.addCommand(inherit(command));
  }
  try {
    await program.parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return report(error);
  }
}

/** Subcommands end and complain the way the program does. */
function inherit(command: Command, above = 'posthorn'): Command {
  const name = `${above} ${command.name()}`;
  command.exitOverride().showHelpAfterError(`(${name} --help shows how it is used)`);
  for (const inner of command.commands) inherit(inner as Command, name);
  return command;
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof AppError) {
    process.stderr.write(`posthorn: ${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(`posthorn: ${(error as Error).message}\n`);
  return 1;
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

process.exitCode = await main(process.argv.slice(2));
