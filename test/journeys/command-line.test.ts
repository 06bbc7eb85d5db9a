import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listMigrations } from '../../src/platform/migrate.ts';
import { Sender } from '../support/sender.ts';
import { Installation, repository, type Server } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const quickstart = readFileSync(join(repository, 'examples/quickstart/posthorn.yaml'), 'utf8');
const handlers = readFileSync(join(repository, 'examples/quickstart/handlers.js'), 'utf8');

let installation: Installation;
let server: Server;

beforeAll(async () => {
  installation = new Installation(quickstart, {
    'handlers.js': handlers,
    'package.json': '{"type":"module"}',
  });
  server = await installation.serve();
});

afterAll(() => installation.remove());

describe('the quickstart', () => {
  it('[CLI-1] makes the two secrets on the first start, readable for their owner only', () => {
    const secrets = ['github', 'demo'].map((name) =>
      readFileSync(join(installation.dataDir, 'secrets', name), 'utf8').trim(),
    );
    for (const name of ['github', 'demo']) {
      expect(statSync(join(installation.dataDir, 'secrets', name)).mode & 0o777).toBe(0o600);
    }
    expect(new Set(secrets).size).toBe(2);
    for (const secret of secrets) {
      expect(secret).toMatch(/^[0-9a-f]{64}$/);
      expect(server.out + server.err).not.toContain(secret);
    }
  });

  it('[CLI-1] prints a curl line that answers 200 at each paste, and the handler speaks', async () => {
    const line = /^curl .*$/m.exec(server.out)?.[0] as string;
    for (const shell of ['sh', 'bash']) {
      const { stdout } = spawnSync(shell, ['-c', line], { encoding: 'utf8' });
      expect(stdout, shell).toMatch(/^HTTP\/1\.1 200 OK/);
    }
    await waitFor('both events to be handled', () => server.logged('run.ended').length === 2);
    expect(server.out.match(/push to octocat\/hello-world/g)).toHaveLength(2);
  });

  it('[EPG-9] a second server on the data directory says so and ends with 2', async () => {
    const { code, err } = await installation.run(['serve', '--port', '0', '--admin-port', '0']);
    expect(code).toBe(2);
    expect(err).toContain('using this data directory');
  });
});

describe('commands beside a running server', () => {
  it('[CLI-2] events list --json gives {data, meta: {next}} page by page', async () => {
    const sender = new Sender(server.port);
    await sender.send('unsigned-by-us');
    sender.close();
    const first = JSON.parse((await installation.run(['events', 'list', '--json', '--limit', '1'])).out);
    expect(Object.keys(first.data[0])).toEqual([
      'id',
      'source',
      'eventId',
      'eventType',
      'status',
      'reason',
      'receivedAt',
    ]);
    expect(first.data[0]).toMatchObject({
      source: 'github',
      status: 'rejected',
      reason: 'bad_signature',
      eventId: null,
    });
    expect(first.meta.next).toEqual(expect.any(String));
    const second = JSON.parse(
      (await installation.run(['events', 'list', '--json', '--limit', '5', '--cursor', first.meta.next])).out,
    );
    expect(second.data).toHaveLength(2);
    expect(second.meta.next).toBeNull();
  });

  it('[CLI-2] events list and show are tables for people', async () => {
    const { out } = await installation.run(['events', 'list']);
    expect(out).toContain('rejected: bad signature');
    const shown = await installation.run(['events', 'show', '1']);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('app/github/push  done');
    expect(shown.out).toContain('[redacted]');
    const json = JSON.parse((await installation.run(['events', 'show', '1', '--json'])).out);
    expect(Buffer.from(json.bodyBase64, 'base64').toString()).toContain('octocat/hello-world');
  });

  it('[CLI-2] events tail --json prints one object a line as they arrive', async () => {
    const tail = installation.run(['events', 'tail', '--json', '--limit', '2']);
    const sender = new Sender(server.port);
    let isOver = false;
    const load = (async () => {
      for (let n = 0; n < 200 && !isOver; n++) {
        await sender.send(`tail-${n}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    const { out, code } = await tail;
    isOver = true;
    await load;
    sender.close();
    expect(code).toBe(0);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(2);
    expect(lines[1].id).toBeGreaterThan(lines[0].id);
  });

  it('[CLI-2][CLI-3][CLI-4] commands that need no secret work while one is empty; serve refuses', async () => {
    const config = join(installation.folder, 'empty-secret.yaml');
    writeFileSync(join(installation.folder, 'empty'), '');
    writeFileSync(config, 'sources:\n  github: { scheme: github, secretFile: empty }\n');
    for (const args of [['events', 'list'], ['events', 'show', '1'], ['migrate', '--check'], ['health']])
      expect(await installation.run([...args, '--config', config]), args.join(' ')).toMatchObject({
        code: 0,
      });
    const refused = await installation.run(['serve', '--config', config]);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining('sources.github.secretFile: the secret in'),
    });
  });

  it('[CLI-3] health says whether the server is alive and ready', async () => {
    expect((await installation.run(['health'])).out).toMatch(/alive {2}yes\nready {2}yes/);
    expect(JSON.parse((await installation.run(['health', '--json'])).out)).toEqual({
      alive: true,
      ready: true,
      reasons: [],
    });
  });

  it('[CLI-4] migrate --check finds the schema up to date', async () => {
    expect(await installation.run(['migrate', '--check'])).toMatchObject({
      code: 0,
      out: 'the schema is up to date\n',
    });
  });

  it('[OPS-8] /metrics counts requests, latency, batches, runs and pools', async () => {
    const read = async () => (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    const text = await waitFor('the worker to have reported', async () => {
      const now = await read();
      return now.includes('posthorn_runs_total{handler="app/github/push",outcome="done"} 2') && now;
    });
    for (const name of [
      'posthorn_requests_total{source="github",outcome="accepted"} 2',
      'posthorn_ingest_seconds_bucket',
      'posthorn_journal_batch_rows_count',
      'posthorn_journal_queue_rows 0',
      'posthorn_pool_connections{pool="ingest",state="idle"}',
    ]) {
      expect(text).toContain(name);
    }
  });

  it('[EDGE-2] the public listener has health but neither metrics nor anything else', async () => {
    const status = async (port: number, path: string) =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect(await status(server.port, '/healthz')).toBe(200);
    expect(await status(server.port, '/readyz')).toBe(200);
    expect(await status(server.port, '/metrics')).toBe(404);
    expect(await status(server.adminPort, '/healthz')).toBe(200);
    expect(await status(server.adminPort, '/api/v1/webhooks/github')).toBe(404);
  });
});

describe('wrong usage', () => {
  it.each([
    ['an unknown command', ['serv']],
    ['an unknown option', ['serve', '--colour']],
    ['an unknown role', ['serve', '--roles', 'gateway,relay']],
    ['split roles without a database', ['serve', '--roles', 'gateway']],
    ['a limit that is no number', ['events', 'list', '--limit', 'ten']],
    ['a limit beyond the most', ['events', 'list', '--limit', '1001']],
    ['a cursor that was not given out', ['events', 'list', '--cursor', 'abc']],
    ['no id', ['events', 'show']],
    ['an id that is no number', ['events', 'show', 'x']],
    ['a port that is none', ['serve', '--port', '70000']],
    ['no configuration', ['events', 'list', '--config', 'nowhere.yaml']],
  ])('[OPS-1] %s ends with 2 and a sentence', async (_what, args) => {
    const { code, err, out } = await installation.run(args);
    expect(code, err).toBe(2);
    expect(err.length).toBeGreaterThan(10);
    expect(err + out).not.toMatch(/\n\s+at /);
  });

  it('[OPS-1] an event that is not there ends with 1', async () => {
    expect(await installation.run(['events', 'show', '999999'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('no event 999999'),
    });
  });

  it('[OPS-1] every command has help with an example', async () => {
    for (const args of [
      ['serve'],
      ['migrate'],
      ['events', 'list'],
      ['events', 'show'],
      ['events', 'tail'],
      ['health'],
    ]) {
      const { code, out } = await installation.run([...args, '--help']);
      expect(code).toBe(0);
      expect(out, args.join(' ')).toContain('Example:');
    }
  });
});

describe('without a running server', () => {
  it('[CLI-3][CLI-4] health ends with 1; events and migrate start the database for their own time', async () => {
    const stopped = new Installation(quickstart, {
      'handlers.js': handlers,
      'package.json': '{"type":"module"}',
    });
    try {
      const health = await stopped.run(['health', '--json']);
      expect(health.code).toBe(1);
      expect(JSON.parse(health.out)).toMatchObject({ alive: false, ready: false });
      expect((await stopped.run(['events', 'list'])).err).toContain('lacks migration 0001_journal');
      expect((await stopped.run(['migrate', '--check'])).code).toBe(1);
      expect(await stopped.run(['migrate'])).toMatchObject({
        code: 0,
        out: listMigrations()
          .map(({ name }) => `applied: ${name}\n`)
          .join(''),
      });
      expect(await stopped.run(['events', 'list'])).toMatchObject({ code: 0, out: 'no events yet\n' });
      expect(() => stopped.postmasterPid(), 'PostgreSQL has stopped with its command').toThrow();
    } finally {
      await stopped.remove();
    }
  });
});
