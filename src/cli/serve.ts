import { Command } from 'commander';
import { AppError } from '../core/errors.ts';
import { type Role, roles, type Serving, sampleCurl, serve } from '../run/index.ts';

type Options = {
  config?: string;
  roles?: string;
  host?: string;
  port?: string;
  adminPort?: string;
  dataDir?: string;
  migrate?: boolean;
};

export function serveCommand(): Command {
  return new Command('serve')
    .description('Receive webhooks and run their handlers')
    .option(
      '-c, --config <file>',
      'the configuration file (else POSTHORN_CONFIG, else posthorn.yaml and the like here)',
    )
    .option('--roles <list>', `what this process does, of ${roles.join(',')}; default all`)
    .option('--host <address>', 'address of the public listener')
    .option('--port <port>', 'port of the public listener; 0 = any free one')
    .option('--admin-port <port>', 'port of the admin listener; 0 = any free one')
    .option('--data-dir <folder>', 'where the embedded database and made secrets live')
    .option('--migrate', 'bring the schema of a database of your own up to date first')
    .addHelpText('after', '\nExample:\n  posthorn serve --config posthorn.yaml')
    .action(async (options: Options) => {
      // From the first moment: a signal during the start stops what the start has begun.
      const signalled = untilSignalled();
      const { roles: named, ...flags } = options;
      const serving = await serve({ ...flags, ...(named === undefined ? {} : { roles: parseRoles(named) }) });
      process.stdout.write(banner(serving));
      process.exitCode = await Promise.race([signalled, serving.ended]);
      await serving.stop();
      // What a handler module or a library left open must not keep a stopped server alive.
      process.exit();
    });
}

function parseRoles(list: string): Role[] {
  const named = list.split(',').map((name) => name.trim());
  const unknown = named.filter((name) => !(roles as readonly string[]).includes(name));
  if (unknown.length > 0) {
    throw new AppError(
      'USAGE',
      `--roles does not know ${unknown.join(', ')}; the roles are ${roles.join(', ')}.`,
    );
  }
  return named as Role[];
}

function banner(serving: Serving): string {
  const lines = ['', 'Posthorn is ready.'];
  if (serving.publicUrl !== undefined)
    lines.push(`  webhooks  ${serving.publicUrl}/api/v1/webhooks/<source>`);
  if (serving.adminUrl !== undefined)
    lines.push(`  admin     ${serving.adminUrl}/readyz, ${serving.adminUrl}/metrics`);
  for (const file of serving.madeSecrets) lines.push(`  made the secret ${file}`);
  const sample =
    serving.publicUrl === undefined ? undefined : sampleCurl(serving.configuration, serving.publicUrl);
  if (sample !== undefined) lines.push('', 'Send a signed webhook (each paste is a new event):', '', sample);
  return `${lines.join('\n')}\n\n`;
}

/** The first SIGTERM or SIGINT stops gently (exit code 0), the second at once. */
function untilSignalled(): Promise<number> {
  return new Promise((resolve) => {
    let count = 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        count += 1;
        if (count > 1) process.exit(1);
        resolve(0);
      });
    }
  });
}
