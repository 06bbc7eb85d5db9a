import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts';
import { createLog } from '../../src/platform/log.ts';

/**
 * A serving process of its own: `node --import tsx embedded-holder.ts <dataDir>`, forked with an IPC channel.
 * It says `serving` or `refused` once, stops on any message, and dies with its parent.
 */
export type HolderReport =
  | { state: 'serving'; directory: string }
  | { state: 'refused'; code: string; message: string };

const report = (message: HolderReport) => process.send?.(message);
try {
  const postgres = await startEmbeddedPostgres({
    dataDir: process.argv[2] ?? '',
    log: createLog({ level: 'silent' }),
    onLost: () => process.exit(3),
  });
  process.on('message', () => void postgres.stop().then(() => process.exit(0)));
  process.on('disconnect', () => process.exit(0));
  report({ state: 'serving', directory: postgres.directory });
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  report({ state: 'refused', code: code ?? 'none', message });
  process.disconnect?.();
}
