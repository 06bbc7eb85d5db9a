import { expect, it } from 'vitest';
import { createPool } from '../../src/platform/db.ts';
import { createTestDatabase, quietLog } from '../support/database.ts';

it('[IN-9] with a pooler no statement is named and no startup parameter is sent', async () => {
  const database = await createTestDatabase();
  const pool = createPool({
    address: { connectionString: database.url, isPooled: true },
    name: 'work',
    most: 1,
    log: quietLog,
  });
  await pool.query({ name: 'a_name', text: 'select 1' });
  const client = await pool.connect();
  await client.query({ name: 'another', text: 'select $1::int', values: [1] });
  const { rows: prepared } = await client.query('select count(*)::int as n from pg_prepared_statements');
  const { rows: settings } = await client.query(
    `select current_setting('statement_timeout') as timeout, current_setting('application_name') as name`,
  );
  client.release();
  await pool.end();
  await database.drop();
  expect(prepared[0].n).toBe(0);
  expect(settings[0]).toEqual({ timeout: '0', name: '' });
});
