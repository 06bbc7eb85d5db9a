/**
 * The process between a worker and its commands. It ends them whole, each in a session of its own: at the
 * time-out, when the worker asks, when the worker is gone (its IPC channel closes), and when the worker stands still
 * (a stopped process keeps its channel open, but its beats are missing). So a takeover never runs beside a command
 * of the former worker. Its working folder is the worker's private one, which it deletes when it ends.
 */
import { rmSync } from 'node:fs';
import type { FromShim, ToShim } from './messages.ts';
import { type Child, startCommand } from './start-command.ts';

/** Less than a run's lease of 30 s. */
const standsStillAfterMs = 20_000;

const folder = process.cwd();
const running = new Map<number, Child>();
let lastBeat = performance.now();

// A terminal sends Ctrl-C to the whole group; the worker decides when its commands end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', (message: ToShim) => {
  lastBeat = performance.now();
  if (message.type === 'run') start(message);
  else if (message.type === 'cancel') running.get(message.id)?.end('cancelled');
});
setInterval(() => {
  if (performance.now() - lastBeat > standsStillAfterMs) for (const child of running.values()) child.kill();
}, 500);

process.on('disconnect', end);
// Whatever happens to this process, its commands do not outlive it.
process.on('uncaughtException', (error) => {
  console.error(error);
  end();
});
// The worker may be gone before anybody listened.
if (!process.connected) end();

function start(order: Extract<ToShim, { type: 'run' }>): void {
  const { id } = order;
  const child = startCommand(order, (end) => {
    running.delete(id);
    say({ type: 'ended', id, end });
  });
  if (child === undefined) return;
  running.set(id, child);
  say({ type: 'started', id, pid: child.pid });
}

function end(): void {
  for (const child of running.values()) child.kill();
  try {
    rmSync(folder, { recursive: true, force: true });
  } finally {
    process.exit(0);
  }
}

function say(message: FromShim): void {
  // A worker that died in this instant makes it fail; without a callback that would be thrown here.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
