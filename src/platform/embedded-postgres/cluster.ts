import { join } from 'node:path';
import type { Log } from '../log.ts';
import type { Binaries } from './binaries.ts';
import type { RunUser } from './run-user.ts';

/** One PostgreSQL cluster: where it lives and what drives it. Every file of ours in it is named here. */
export type Cluster = {
  directory: string;
  /** PGDATA. The password is born with it and inside it, so that one rename makes both appear. */
  data: string;
  logFile: string;
  user: RunUser;
  binaries: Binaries;
  settings: Record<string, string>;
  log: Log;
};

export function describeCluster(parts: Omit<Cluster, 'data' | 'logFile'>): Cluster {
  return { ...parts, data: dataIn(parts.directory), logFile: join(parts.directory, 'postgres.log') };
}

export const dataIn = (directory: string): string => join(directory, 'data');
export const passwordFileIn = (data: string): string => join(data, 'posthorn.password');
export const connectionFileIn = (directory: string): string => join(directory, 'connection.json');
