import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { createPool } from '../../src/platform/db.ts';
import {
  listMigrations,
  migrate,
  readSchemaState,
  requireCurrentSchema,
} from '../../src/platform/migrate.ts';
import { createTestDatabase, quietLog, type TestDatabase } from '../support/database.ts';
import { describeSchema } from '../support/schema.ts';

let migrated: TestDatabase;
let empty: TestDatabase;

beforeAll(async () => {
  migrated = await createTestDatabase();
});

beforeEach(async () => {
  empty = await createTestDatabase({ template: 'template0' });
  return () => empty.drop();
});

afterAll(() => migrated.drop());

it('[IN-13] db/schema.sql is what the migrations make', async () => {
  const text = `-- The schema as the migrations make it; written by a test, not by hand.\n\n${await describeSchema(migrated.pool)}`;
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, '../../db/schema.sql'));
});

describe('migrate', () => {
  it('[OPS-4] brings an empty database up to date, once', async () => {
    await expect(requireCurrentSchema(empty.pool)).rejects.toThrow(/lacks migration 0001_journal/);
    expect(await migrate(empty.pool, quietLog)).toEqual(listMigrations().map(({ name }) => name));
    expect(await migrate(empty.pool, quietLog)).toEqual([]);
    await requireCurrentSchema(empty.pool);
  });

  it('[OPS-4] several at the same instant apply each migration once', async () => {
    const pools = Array.from({ length: 4 }, () =>
      createPool({ address: empty.address, name: 'migrate', most: 1, log: quietLog }),
    );
    const applied = await Promise.all(pools.map((pool) => migrate(pool, quietLog)));
    expect(applied.flat()).toEqual(listMigrations().map(({ name }) => name));
    for (const pool of pools) await pool.end();
  });

  it('[OPS-4] refuses a schema that a newer version made', async () => {
    await migrate(empty.pool, quietLog);
    await empty.pool.query(
      `insert into posthorn.migrations (version, name, checksum) values (9999, '9999_future', 'x')`,
    );
    await expect(migrate(empty.pool, quietLog)).rejects.toMatchObject({ code: 'SCHEMA_NEWER', exitCode: 2 });
  });

  it('[OPS-4] refuses a migration that was changed after it was applied', async () => {
    await migrate(empty.pool, quietLog);
    await empty.pool.query(`update posthorn.migrations set checksum = 'x' where version = 1`);
    await expect(readSchemaState(empty.pool)).rejects.toBeInstanceOf(AppError);
  });

  it('[OPS-4] keeps nothing of a migration that fails', async () => {
    await empty.pool.query('create schema posthorn; create table posthorn.runs (x int)');
    await expect(migrate(empty.pool, quietLog)).rejects.toMatchObject({ code: 'MIGRATION_FAILED' });
    const { rows } = await empty.pool.query(`select to_regclass('posthorn.events') as events`);
    expect(rows[0].events).toBeNull();
  });
});
