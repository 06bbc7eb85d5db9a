import type { Queryable } from '../platform/db.ts';

/** Adds the secret of a source that has none; says whether it was added. */
export async function addHandedSecret(db: Queryable, source: number, secret: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    'insert into posthorn.source_secrets (source, secret) values ($1, $2) on conflict (source) do nothing',
    [source, secret],
  );
  return rowCount === 1;
}

export async function findHandedSecrets(
  db: Queryable,
  codes: readonly string[],
): Promise<{ code: string; secret: Buffer }[]> {
  const { rows } = await db.query<{ code: string; secret: Buffer }>(
    `select sources.code, held.secret from posthorn.source_secrets held
     join posthorn.sources on sources.id = held.source where sources.code = any($1::text[])`,
    [codes],
  );
  return rows;
}

/** The secret of a source for whoever has to paste it at the sender; undefined if there is none or it was shown before. */
export async function showHandedSecret(db: Queryable, code: string): Promise<Buffer | undefined> {
  const { rows } = await db.query<{ secret: Buffer }>(
    `update posthorn.source_secrets held set shown_at = now() from posthorn.sources
     where sources.id = held.source and sources.code = $1 and held.shown_at is null returning held.secret`,
    [code],
  );
  return rows[0]?.secret;
}

/** Forgets the secret of a source, so that its sender can hand over another; says whether there was one. */
export async function forgetHandedSecret(db: Queryable, code: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from posthorn.source_secrets held using posthorn.sources
     where sources.id = held.source and sources.code = $1`,
    [code],
  );
  return (rowCount ?? 0) > 0;
}
