import { Command } from 'commander';
import { askLocal } from '../platform/local-request.ts';
import { type Flags, findRunning, loadConfiguration } from '../run/index.ts';
import { colour } from './table.ts';

type Health = { alive: boolean; ready: boolean; reasons: string[] };

export function healthCommand(): Command {
  return new Command('health')
    .description('Ask the running server whether it can do its work; exit 0 if so, else 1')
    .option('-c, --config <file>', 'the configuration file')
    .option('--data-dir <folder>', 'the data directory of the server')
    .option('--json', 'print {alive, ready, reasons}')
    .addHelpText('after', '\nExample:\n  posthorn health --json')
    .action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
      const configuration = await loadConfiguration(flags);
      const running = await findRunning(configuration.dataDir);
      const { adminHost, adminPort } = configuration.http;
      const health = await askHealth(running?.adminUrl ?? `http://${adminHost}:${adminPort}`);
      process.stdout.write(json ? `${JSON.stringify(health)}\n` : table(health));
      process.exitCode = health.alive && health.ready ? 0 : 1;
    });
}

async function askHealth(adminUrl: string): Promise<Health> {
  const alive = await askLocal(`${adminUrl}/healthz`);
  if (alive === undefined)
    return {
      alive: false,
      ready: false,
      reasons: [`nothing answers at ${adminUrl}; start it with: posthorn serve`],
    };
  const ready = await askLocal(`${adminUrl}/readyz`);
  const said = ready?.body as { ready?: boolean; reasons?: string[] } | undefined;
  return {
    alive: alive.status === 200,
    ready: said?.ready === true,
    reasons: said?.reasons ?? ['the server gave no reason'],
  };
}

function table(health: Health): string {
  const word = (is: boolean) => (is ? colour.green('yes') : colour.red('no'));
  return [
    `alive  ${word(health.alive)}`,
    `ready  ${word(health.ready)}`,
    ...health.reasons.map((reason) => `       ${reason}`),
    '',
  ].join('\n');
}
