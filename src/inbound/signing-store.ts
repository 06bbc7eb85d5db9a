import type { Queryable } from '../platform/db.ts';

/** For longer than any sender repeats, and a token is refused by its time long before. */
const keptTokens = '9 days';

/**
 * Remembers a token with the digest of the body it came with; says whether it is new or came with the same body before.
 * A few old ones are deleted at the same time, so that the table stays small without a sweep.
 */
export async function useToken(
  db: Queryable,
  { source, token, bodyDigest }: { source: number; token: string; bodyDigest: Buffer },
): Promise<boolean> {
  const { rows } = await db.query<{ body_digest: Buffer }>(
    `with swept as (
       delete from posthorn.used_tokens where (source, token) in (
         select source, token from posthorn.used_tokens where used_at < now() - $4::interval
         limit 10 for update skip locked)
     )
     insert into posthorn.used_tokens as used (source, token, body_digest) values ($1, $2, $3)
     -- Changes nothing, but gives the row that is there.
     on conflict (source, token) do update set body_digest = used.body_digest
     returning body_digest`,
    [source, token, bodyDigest, keptTokens],
  );
  return rows[0]?.body_digest.equals(bodyDigest) === true;
}

/** Adds a URL to be fetched; one that is there already is left as it is. */
export async function addCallback(
  db: Queryable,
  { source, url, now }: { source: number; url: string; now: number },
): Promise<void> {
  await db.query(
    `insert into posthorn.callbacks (source, url, next_attempt_at) values ($1, $2, to_timestamp($3 / 1000.0))
     on conflict (source, url) do update set status = 'waiting', attempts = 0, next_attempt_at = excluded.next_attempt_at`,
    [source, url, now],
  );
}

export type Callback = {
  readonly id: number;
  readonly source: string;
  readonly url: string;
  readonly attempts: number;
};

/**
 * Takes what is due and moves its next try by `againMs`: whoever is killed while fetching leaves it to be tried then, and
 * nobody else takes it meanwhile.
 */
export async function claimCallbacks(
  db: Queryable,
  { now, againMs, most }: { now: number; againMs: number; most: number },
): Promise<Callback[]> {
  const { rows } = await db.query<Callback>(
    `update posthorn.callbacks due set attempts = attempts + 1, next_attempt_at = to_timestamp(($1 + $2) / 1000.0)
     from posthorn.sources
     where due.id in (select id from posthorn.callbacks where status = 'waiting'
         and next_attempt_at <= to_timestamp($1 / 1000.0) order by next_attempt_at limit $3 for update skip locked)
       and sources.id = due.source
     returning due.id, sources.code as source, due.url, due.attempts`,
    [now, againMs, most],
  );
  return rows;
}

export async function finishCallback(
  db: Queryable,
  { id, status, nextAttemptAt }: { id: number; status: 'waiting' | 'done' | 'failed'; nextAttemptAt: number },
): Promise<void> {
  await db.query(
    `update posthorn.callbacks set status = $2, next_attempt_at = to_timestamp($3 / 1000.0)
     where id = $1 and status = 'waiting'`,
    [id, status, nextAttemptAt],
  );
}
