import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from './log.ts';
import { makeSecretFile, placeText, readSecret, SecretFiles, secretPath, warnOfOpenFile } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'posthorn-secrets-'));
let files = 0;

/** A secret file of its own for each test. */
function fileWith(content: string | Buffer): string {
  const path = join(folder, `secret-${++files}`);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Follows a file that holds `text`; `changes` are what was told. Contents differ in length: time stamps are coarse. */
function follow(path: string, text: string) {
  const changes: (string | undefined)[] = [];
  const followed = new SecretFiles(new Map([[path, text]]), (changed, now) => {
    expect(changed).toBe(path);
    changes.push(now);
  });
  return { followed, changes };
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('a secret', () => {
  it('[SIG-5] is read without one trailing newline, and otherwise as it stands', () => {
    const read = (content: string) => readSecret({ file: fileWith(content) });
    expect(read('the secret')).toEqual({ text: 'the secret' });
    expect(read('the secret\n')).toEqual({ text: 'the secret' });
    expect(read('the secret\r\n')).toEqual({ text: 'the secret' });
    expect(read('the secret\n\n')).toEqual({ text: 'the secret\n' });
    expect(read(' the\nsecret \n')).toEqual({ text: ' the\nsecret ' });
    expect(read('')).toEqual({ text: '' });
    expect(read('\n')).toEqual({ text: '' });
  });

  it('[SIG-5] of a file that is missing or cannot be read is a problem that says so', () => {
    expect(readSecret({ file: join(folder, 'nowhere') })).toEqual({ problem: 'does not exist' });
    expect(readSecret({ file: folder })).toEqual({
      problem: 'cannot be read: that is a folder; name a file',
    });
    expect(readSecret({ file: join(fileWith('x'), 'below') })).toEqual({
      problem: 'does not exist',
    });
  });

  it('[SIG-5] is read from the environment as it stands', () => {
    vi.stubEnv('POSTHORN_TEST_SECRET', 'the secret\n');
    expect(readSecret({ env: 'POSTHORN_TEST_SECRET' })).toEqual({ text: 'the secret\n' });
    vi.stubEnv('POSTHORN_TEST_SECRET', '');
    expect(readSecret({ env: 'POSTHORN_TEST_SECRET' })).toEqual({ text: '' });
    expect(readSecret({ env: 'POSTHORN_TEST_NO_SECRET' })).toEqual({ problem: 'is not set' });
  });

  it('[IN-12] has a path relative to the configuration, below the data directory, or absolute', () => {
    const folders = { folder: '/etc/posthorn', dataDir: '/var/lib/posthorn' };
    expect(secretPath('secrets/github', folders)).toBe('/etc/posthorn/secrets/github');
    expect(secretPath('../github', folders)).toBe('/etc/github');
    expect(secretPath('data:secrets/github', folders)).toBe('/var/lib/posthorn/secrets/github');
    expect(secretPath('/run/secrets/github', folders)).toBe('/run/secrets/github');
    expect(placeText({ file: '/run/secrets/github' })).toBe('/run/secrets/github');
    expect(placeText({ env: 'GITHUB_SECRET' })).toBe('environment variable GITHUB_SECRET');
  });

  it('[IN-12] in a file that others can read is warned of, with the mend', () => {
    const lines: string[] = [];
    const log = createLog({ level: 'trace', destination: { write: (line: string) => lines.push(line) } });
    const path = fileWith('the secret');
    warnOfOpenFile(path, log);
    warnOfOpenFile(join(folder, 'nowhere'), log);
    expect(lines).toEqual([]);
    for (const mode of [0o640, 0o604, 0o644, 0o622]) {
      chmodSync(path, mode);
      warnOfOpenFile(path, log);
    }
    expect(lines).toHaveLength(4);
    expect(lines[0]).toContain(`chmod 600 ${path}`);
    expect(lines.join('')).not.toContain('the secret');
  });
});

describe('a secret file that is followed', () => {
  it('[IN-12] is left alone while it does not change, also when it is touched', async () => {
    const path = fileWith('the secret\n');
    const { followed, changes } = follow(path, 'the secret');
    await followed.look();
    utimesSync(path, 1_000_000_000, 1_000_000_000);
    await followed.look();
    writeFileSync(path, 'the secret');
    await followed.look();
    expect(changes).toEqual([]);
  });

  it('[IN-12] is taken when it changed, without its newline, and once', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    writeFileSync(path, 'the new secret\n');
    await Promise.all([followed.look(), followed.look()]);
    expect(changes).toEqual(['the new secret']);
    await followed.look();
    expect(changes).toEqual(['the new secret']);
  });

  it('[IN-12] is taken when another file was moved into its place, or a link turned', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    renameSync(fileWith('the moved secret'), path);
    await followed.look();
    unlinkSync(path);
    symlinkSync(fileWith('the linked secret'), path);
    await followed.look();
    expect(changes).toEqual(['the moved secret', 'the linked secret']);
  });

  it('[IN-12] is not taken while it is being written: the former secret holds', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    let written = 'the';
    const write = () => {
      written += ' longer';
      writeFileSync(path, written);
    };
    write();
    const writing = setInterval(write, 10);
    await followed.look();
    clearInterval(writing);
    expect(changes).toEqual([]);
    await followed.look();
    expect(changes).toEqual([written]);
  });

  it('[IN-12] that stays empty for a second fails closed, and is mended by any secret', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    writeFileSync(path, '\n');
    await followed.look();
    expect(changes).toEqual([undefined]);
    writeFileSync(path, 'the secret');
    await followed.look();
    expect(changes).toEqual([undefined, 'the secret']);
  });

  it('[IN-12] that is only empty for a moment keeps its former secret until the new one is there', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    writeFileSync(path, '');
    const looking = followed.look();
    // In the middle of the second that the look itself waits.
    setTimeout(() => writeFileSync(path, 'the new secret'), 500);
    await looking;
    expect(changes).toEqual([]);
    await followed.look();
    expect(changes).toEqual(['the new secret']);
  });

  it('[IN-12] that is gone fails closed, and is mended when it is back', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    unlinkSync(path);
    await followed.look();
    expect(changes).toEqual([undefined]);
    writeFileSync(path, 'the secret');
    await followed.look();
    expect(changes).toEqual([undefined, 'the secret']);
  });

  it('[IN-12] that failed closed is read at every look, also when its time stamp stands still', async () => {
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    for (const content of ['\r\n', 'ab']) {
      writeFileSync(path, content);
      utimesSync(path, 1_000_000_000, 1_000_000_000);
      await followed.look();
    }
    expect(changes).toEqual([undefined, 'ab']);
  });

  it('[IN-12] that changed between the first reading and the following is taken too', async () => {
    const path = fileWith('the new secret');
    const { followed, changes } = follow(path, 'the secret');
    await followed.look();
    expect(changes).toEqual(['the new secret']);
  });

  it('[IN-12] is looked at once a second from start to stop', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const path = fileWith('the secret');
    const { followed, changes } = follow(path, 'the secret');
    writeFileSync(path, 'the new secret');
    followed.start();
    followed.start();
    vi.advanceTimersByTime(1_000);
    await vi.waitFor(() => expect(changes).toEqual(['the new secret']));
    followed.stop();
    followed.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('making a secret file', () => {
  it('[SIG-5] writes 32 random bytes for its owner alone, once', () => {
    const path = join(folder, 'made', 'deep', 'secret');
    expect(makeSecretFile(path)).toBe(true);
    const made = readFileSync(path, 'utf8');
    expect(made).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'made')).mode & 0o777).toBe(0o700);
    expect(makeSecretFile(path)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe(made);
    expect(readdirSync(join(folder, 'made', 'deep'))).toEqual(['secret']);
    expect(makeSecretFile(join(folder, 'made', 'other'))).toBe(true);
    expect(readFileSync(join(folder, 'made', 'other'), 'utf8')).not.toBe(made);
  });

  it('[SIG-5] leaves a file alone that is there, even an empty one', () => {
    const path = fileWith('');
    expect(makeSecretFile(path)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  it('[SIG-5] gives two processes that start at once the same secret', async () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const script = `
      import { readFileSync } from 'node:fs';
      import { makeSecretFile } from './src/platform/secrets.ts';
      process.stdin.once('data', () => {
        const seen = Array.from({ length: 300 }, (_, n) => {
          const path = ${JSON.stringify(shared)} + '/' + n;
          return [makeSecretFile(path), readFileSync(path, 'utf8')];
        });
        console.log(JSON.stringify(seen));
        process.exit();
      });
      console.error('ready');`;
    const makers = [1, 2].map(() =>
      spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { cwd: root }),
    );
    await Promise.all(makers.map(({ stderr }) => once(stderr, 'data')));
    for (const { stdin } of makers) stdin.write('go');
    const [one = [], other = []]: [boolean, string][][] = await Promise.all(
      makers.map(async ({ stdout }) => JSON.parse(await textOf(stdout))),
    );
    expect(one).toHaveLength(300);
    for (const [n, [made, secret]] of one.entries()) {
      expect(secret).toMatch(/^[0-9a-f]{64}\n$/);
      expect(other[n]).toEqual([!made, secret]);
    }
    expect(readdirSync(shared)).toHaveLength(300);
  }, 20_000);
});
