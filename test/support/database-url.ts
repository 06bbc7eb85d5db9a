import type { EmbeddedConnection } from '../../src/platform/embedded-postgres/index.ts';

/** The connection as DATABASE_URL takes it; its host may be the folder of a socket. */
export function databaseUrl({ host, port, user, password, database }: EmbeddedConnection): string {
  return `postgres://${user}:${password}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}
