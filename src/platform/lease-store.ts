import type { Queryable } from './db.ts';

/** Leases end by the database's own clock, read when the row is locked. */

/** Takes a lease that is free, expired, or this holder's own; gives its new epoch, undefined if somebody else has it. */
export async function takeLease(
  db: Queryable,
  { name, holder, leaseMs }: { name: string; holder: string; leaseMs: number },
): Promise<number | undefined> {
  const { rows } = await db.query<{ epoch: number }>(
    `insert into posthorn.leases as held (name, holder, epoch, expires_at)
     values ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
     on conflict (name) do update set holder = excluded.holder, epoch = held.epoch + 1,
       expires_at = clock_timestamp() + $3 * interval '1 millisecond'
     where held.expires_at <= clock_timestamp() or held.holder = excluded.holder
     returning epoch`,
    [name, holder, leaseMs],
  );
  return rows[0]?.epoch;
}

/** Renews all leases of a holder in one statement; gives the names that it still holds. */
export async function renewLeases(
  db: Queryable,
  {
    holder,
    leases,
    leaseMs,
  }: { holder: string; leases: readonly { name: string; epoch: number }[]; leaseMs: number },
): Promise<Set<string>> {
  const { rows } = await db.query<{ name: string }>(
    `update posthorn.leases set expires_at = clock_timestamp() + $4 * interval '1 millisecond'
     from unnest($2::text[], $3::bigint[]) as mine(name, epoch)
     where leases.name = mine.name and leases.epoch = mine.epoch and holder = $1 and expires_at > clock_timestamp()
     returning leases.name`,
    [holder, leases.map(({ name }) => name), leases.map(({ epoch }) => epoch), leaseMs],
  );
  return new Set(rows.map(({ name }) => name));
}

/** Ends leases at once; the rows stay, so that the next epoch is greater. */
export async function giveBackLeases(
  db: Queryable,
  { holder, leases }: { holder: string; leases: readonly { name: string; epoch: number }[] },
): Promise<void> {
  await db.query(
    `update posthorn.leases set expires_at = clock_timestamp()
     from unnest($2::text[], $3::bigint[]) as mine(name, epoch)
     where leases.name = mine.name and leases.epoch = mine.epoch and holder = $1`,
    [holder, leases.map(({ name }) => name), leases.map(({ epoch }) => epoch)],
  );
}
