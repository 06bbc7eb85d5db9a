import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendWebhook, testSecret } from '../support/gateway.ts';
import { Installation, repository } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

/** The commands and snippets of README.md, run as they stand there. */
const readme = readFileSync(join(repository, 'README.md'), 'utf8');
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, text]) => text as string,
  );

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-readme-'));
  chmodSync(folder, 0o755);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('[CLI-1] npm start serves the quickstart, and the commands of the README look at what arrived', async () => {
  const env = { ...process.env, POSTHORN_DATA_DIR: join(folder, 'data'), NO_COLOR: '1' };
  const server = spawn(process.execPath, ['scripts/start.mjs', '--port', '0', '--admin-port', '0'], {
    cwd: repository,
    env,
  });
  let out = '';
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const ended = new Promise((resolve) => server.on('close', resolve));
  try {
    await waitFor('the banner', () => out.includes('Posthorn is ready.') && /^curl .*$/m.test(out), {
      withinMs: 45_000,
    });
    const curl = /^curl .*$/m.exec(out)?.[0] as string;
    expect(spawnSync('sh', ['-c', curl], { encoding: 'utf8' }).stdout).toContain('200 OK');
    await waitFor('the handler to speak', () => out.includes('push to octocat/hello-world'));
    const lines = blocks('sh').join('').split('\n');
    const named = /^alias posthorn="(.*)"$/.exec(lines.find((line) => line.startsWith('alias ')) ?? '')?.[1];
    const program = named?.replaceAll("'", '"') as string;
    const commands = lines
      .filter((line) => line.startsWith('posthorn '))
      .map((line) => line.replace('posthorn', program));
    expect(commands.length).toBeGreaterThan(3);
    for (const command of commands) {
      const bounded = command.includes(' tail ') ? `timeout --signal=INT 2 ${command}` : command;
      const { status, stderr } = spawnSync('sh', ['-c', bounded], { cwd: repository, env, encoding: 'utf8' });
      expect(command.includes(' tail ') ? [0, 124] : [0], `${command}: ${stderr}`).toContain(status);
    }
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
});

describe('your own', () => {
  it('[IN-16] the configuration and the handler of the README work together', async () => {
    const installation = new Installation(blocks('yaml')[0] as string, {
      'handlers.js': blocks('js')[0] as string,
      'package.json': '{"type":"module"}',
    });
    mkdirSync(join(installation.folder, 'secrets'));
    writeFileSync(join(installation.folder, 'secrets/github'), testSecret, { mode: 0o600 });
    try {
      const server = await installation.serve();
      const pool = installation.pool();
      const body = '{"action":"opened","number":7}';
      const answer = await sendWebhook(server.port, { body, headers: { 'X-GitHub-Event': 'pull_request' } });
      expect(answer.status).toBe(200);
      const rows = await waitFor('the effect', async () => {
        const { rows: made } = await pool.query("select to_regclass('pulls') is not null as is_there");
        if (!made[0].is_there) return false;
        const { rows: found } = await pool.query('select number, action from pulls');
        return found.length > 0 && found;
      });
      expect(rows).toEqual([{ number: 7, action: 'opened' }]);
      await pool.end();
    } finally {
      await installation.remove();
    }
  });
});
