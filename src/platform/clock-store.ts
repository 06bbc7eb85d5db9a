import type { Queryable } from './db.ts';

/** The database's clock, in milliseconds since 1970. */
export async function readDatabaseTime(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  );
  return (rows[0] as { ms: number }).ms;
}
