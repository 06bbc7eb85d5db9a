import { Command } from 'commander';
import { createLog } from '../platform/log.ts';
import { readSchemaState } from '../platform/migrate.ts';
import { borrowDatabase, type Flags, loadConfiguration, prepareSchema, withPool } from '../run/index.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the database schema up to date')
    .option('-c, --config <file>', 'the configuration file')
    .option('--data-dir <folder>', 'the data directory of an embedded database')
    .option('--check', 'change nothing; exit 1 if a migration is missing')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://localhost/app posthorn migrate --check')
    .action(async ({ check, ...flags }: Flags & { check?: boolean }) => {
      const configuration = await loadConfiguration(flags);
      const log = createLog({ level: 'warn' });
      const database = await borrowDatabase(configuration, log);
      try {
        if (check) {
          const { pending } = await withPool(database.directAddress, log, readSchemaState);
          for (const { name } of pending) process.stdout.write(`missing: ${name}\n`);
          if (pending.length === 0) process.stdout.write('the schema is up to date\n');
          process.exitCode = pending.length === 0 ? 0 : 1;
          return;
        }
        const applied = await prepareSchema(database, { log, apply: true });
        for (const name of applied) process.stdout.write(`applied: ${name}\n`);
        if (applied.length === 0) process.stdout.write('the schema is up to date\n');
      } finally {
        await database.stop();
      }
    });
}
