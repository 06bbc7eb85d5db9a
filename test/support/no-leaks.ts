import type { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/**
 * A leaked pool, timer, socket or process fails its file. Runs as a setup file: hooks run in reverse order of
 * registration, so this one, registered first, looks after the file's own afterAll hooks have closed everything.
 * Only what keeps a process alive counts; what was unref'd (idle keep-alive sockets, lease timers) does not.
 */
const waitMs = 3000;
const pollMs = 25;

// Vitest's own pipe to its parent and the like; stdout and stderr open their handles at the first touch.
void process.stdout;
void process.stderr;
// The worker of a Vitest that was killed must not live on with what a hanging test holds open.
process.once('disconnect', () => process.exit(1));
const before = counted(process.getActiveResourcesInfo());

afterAll(async () => {
  let leaked = leaks();
  // Counted in polls, not by a clock: a test may have left a fake one behind.
  for (let poll = 0; leaked.length > 0 && poll < waitMs / pollMs; poll += 1) {
    await sleep(pollMs);
    leaked = leaks();
  }
  if (leaked.length === 0) return;
  const open = activeHandles().map(described).filter(Boolean);
  throw new Error(
    `this file leaks ${leaked.join(', ')}${open.length > 0 ? ` (open: ${open.join(', ')})` : ''}; close it in the test or in afterAll`,
  );
});

function leaks(): string[] {
  return [...counted(process.getActiveResourcesInfo())]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${count - (before.get(kind) ?? 0)} ${kind}`);
}

function counted(kinds: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Undocumented but stable, and only for the words of the failure: getActiveResourcesInfo knows kinds, not addresses. */
function activeHandles(): unknown[] {
  return (process as unknown as { _getActiveHandles?: () => unknown[] })._getActiveHandles?.() ?? [];
}

function described(handle: unknown): string | undefined {
  if (handle instanceof Server) return `server on ${JSON.stringify(handle.address())}`;
  if (handle instanceof Socket && handle.remotePort) return `socket to port ${handle.remotePort}`;
  const child = handle as Partial<ChildProcess>;
  if (child.spawnfile) return `process ${child.pid} ${child.spawnargs?.join(' ')}`;
  return undefined;
}
