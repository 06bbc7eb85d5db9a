import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { environment } from '../../src/platform/config.ts';
import { createPool } from '../../src/platform/db.ts';
import {
  type EmbeddedConnection,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/index.ts';
import { createLog } from '../../src/platform/log.ts';
import { migrate } from '../../src/platform/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: EmbeddedConnection;
  }
}

export const templateDatabase = 'posthorn_template_test';

/** One real PostgreSQL for all integration files; fsync off, since nothing here outlives the run. */
export default async function startServer(project: TestProject) {
  const dataDir = mkdtempSync(join(tmpdir(), 'posthorn-integration-'));
  chmodSync(dataDir, 0o755);
  const log = createLog({ level: 'error' });
  const server = await startEmbeddedPostgres({
    dataDir,
    log,
    packageDir: environment.POSTHORN_POSTGRES_PACKAGE || undefined,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
    onLost: (error) => {
      throw error;
    },
  });
  await makeTemplate(server.connection);
  project.provide('postgres', server.connection);
  return async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

async function makeTemplate(connection: EmbeddedConnection): Promise<void> {
  const log = createLog({ level: 'error' });
  const admin = createPool({ address: { ...connection, database: 'postgres' }, name: 'test', most: 1, log });
  await admin.query(`create database ${templateDatabase}`);
  await admin.end();
  const template = createPool({
    address: { ...connection, database: templateDatabase },
    name: 'test',
    most: 2,
    log,
  });
  await migrate(template, log);
  await template.end();
}
