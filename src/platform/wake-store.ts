import type { Queryable } from './db.ts';

/** Channels are ours alone: lower-case words that need no quotes. */
export async function notify(db: Queryable, channel: string): Promise<void> {
  await db.query(`notify ${channel}`);
}

export async function listen(client: Queryable, channel: string): Promise<void> {
  await client.query(`listen ${channel}`);
}
