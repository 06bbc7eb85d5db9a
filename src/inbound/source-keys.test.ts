import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../platform/log.ts';
import type { SourceConfig } from './settings.ts';
import { createSourceKeys, makeMissingSecrets, secretComplaints } from './source-keys.ts';

const scheme = 'github';
const hexScheme = {
  hmac: 'sha256',
  key: 'hex',
  header: 'X-Sign',
  encoding: 'hex',
  signed: '{body}',
  eventId: { digest: 'body' },
} as const;
const old = 'the old secret, long enough';
const fresh = 'the fresh secret, which is longer';
const other = 'another secret, long enough';

const root = mkdtempSync(join(tmpdir(), 'posthorn-keys-'));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

/** Source keys over a folder with these secret files; `texts` are the secrets that hold now, `lines` the log. */
function keysOf(configs: Record<string, SourceConfig>, files: Record<string, string> = {}) {
  const folder = mkdtempSync(join(root, 'case-'));
  const path = (name: string) => join(folder, name);
  for (const [name, content] of Object.entries(files)) writeFileSync(path(name), content, { mode: 0o600 });
  const lines: { event: string; level: string; msg: string }[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'trace', destination });
  const folders = { folder, dataDir: join(folder, 'data') };
  const complaints = secretComplaints(configs, folders);
  const keys = createSourceKeys(configs, { ...folders, log });
  const texts = (code: string) => keys.of(code, 'scheme').map((key) => key.export().toString());
  return { keys, complaints, texts, lines, path, folder, folders };
}

describe('at the start', () => {
  it('[IN-12] secrets come from files beside the configuration and from the environment, in their order', () => {
    vi.stubEnv('POSTHORN_TEST_KEY', fresh);
    const { complaints, texts, lines } = keysOf(
      {
        github: { scheme, secretFile: 'one' },
        rotating: { scheme, secretFile: ['two', 'one'], secretEnv: ['POSTHORN_TEST_KEY'] },
        described: { scheme: hexScheme, secretFile: 'hex' },
      },
      { one: `${old}\n`, two: other, hex: '61'.repeat(32) },
    );
    expect(complaints).toEqual([]);
    expect(texts('github')).toEqual([old]);
    expect(texts('rotating')).toEqual([other, old, fresh]);
    expect(texts('described')).toEqual(['a'.repeat(32)]);
    expect(texts('unknown')).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('[SIG-5] every secret that is refused or cannot be read is a complaint with its path, all at once', () => {
    const { complaints, texts, folder } = keysOf(
      {
        short: { scheme, secretFile: 'short' },
        missing: { scheme, secretFile: 'missing' },
        unset: { scheme, secretEnv: 'POSTHORN_TEST_UNSET' },
        empty: { scheme, secretFile: ['good', 'empty'] },
        described: { scheme: hexScheme, secretFile: 'good' },
        fine: { scheme, secretFile: 'good' },
      },
      { short: 'tooshort12345', empty: '\n', good: old },
    );
    expect(complaints.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      expect.stringMatching(
        `^sources.short.secretFile: the secret in ${folder}/short has 13 bytes; at least 16`,
      ),
      `sources.missing.secretFile: the secret in ${folder}/missing does not exist`,
      'sources.unset.secretEnv: the secret in environment variable POSTHORN_TEST_UNSET is not set',
      expect.stringMatching(`^sources.empty.secretFile: the secret in ${folder}/empty is empty`),
      expect.stringMatching(`^sources.described.secretFile: the secret in ${folder}/good is not valid hex`),
    ]);
    expect(JSON.stringify(complaints)).not.toContain('tooshort');
    expect(JSON.stringify(complaints)).not.toContain(old);
    for (const code of ['short', 'missing', 'unset', 'described']) expect(texts(code)).toEqual([]);
    expect(texts('fine')).toEqual([old]);
  });

  it('[IN-12] a secret that is ours to make may be missing before it is made, but not be unusable', () => {
    const config = { scheme, secretFile: ['data:own', 'theirs'] };
    const { folders } = keysOf({});
    const paths = (options?: { ownMayBeMissing: boolean }) =>
      secretComplaints({ github: config }, folders, options).map(({ message }) => message);
    const theirs = `the secret in ${folders.folder}/theirs does not exist`;
    expect(paths()).toEqual([`the secret in ${folders.dataDir}/own does not exist`, theirs]);
    expect(paths({ ownMayBeMissing: true })).toEqual([theirs]);
    mkdirSync(folders.dataDir);
    writeFileSync(join(folders.dataDir, 'own'), 'tooshort12345');
    expect(paths({ ownMayBeMissing: true })).toHaveLength(2);
  });

  it('[SIG-5] a secret that was written where its place belongs is not shown', () => {
    const secret = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
    const { complaints, folder } = keysOf({
      env: { scheme, secretEnv: secret },
      file: { scheme, secretFile: `whsec_${secret}` },
    });
    expect(complaints.map(({ message }) => message)).toEqual([
      'the secret in environment variable [not shown] is not set',
      `the secret in ${folder}/whsec_[not shown] does not exist`,
    ]);
  });

  it('[SIG-5] a source that names no secret is warned of, refuses everything and stops nothing', () => {
    const { complaints, texts, lines } = keysOf({ open: { scheme } });
    expect(complaints).toEqual([]);
    expect(texts('open')).toEqual([]);
    expect(lines).toMatchObject([{ event: 'source.no_secret', level: 'warn', source: 'open' }]);
  });

  it('[IN-12] a secret file that others can read is warned of', () => {
    const first = keysOf({ github: { scheme, secretFile: 'one' } }, { one: old });
    chmodSync(first.path('one'), 0o644);
    const again = keysOf({ github: { scheme, secretFile: first.path('one') } });
    expect(again.texts('github')).toEqual([old]);
    expect(again.lines).toMatchObject([{ event: 'secret.file_open', level: 'warn' }]);
  });
});

describe('while running', () => {
  it('[IN-12] a changed file is taken by every source that names it, and the log does not tell the secret', async () => {
    const { keys, texts, lines, path } = keysOf(
      { one: { scheme, secretFile: 'key' }, two: { scheme, secretFile: ['rest', 'key'] } },
      { key: old, rest: other },
    );
    writeFileSync(path('key'), `${fresh}\n`);
    expect(texts('one')).toEqual([old]);
    await keys.look();
    expect(texts('one')).toEqual([fresh]);
    expect(texts('two')).toEqual([other, fresh]);
    expect(lines).toMatchObject([
      { event: 'secret.changed', source: 'one' },
      { event: 'secret.changed', source: 'two' },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/old secret|fresh secret|another secret/);
  });

  it('[SIG-5] a refused secret fails closed at once, the others of its source hold, and it can be mended', async () => {
    const { keys, texts, lines, path } = keysOf(
      { single: { scheme, secretFile: 'key' }, rotating: { scheme, secretFile: ['key', 'rest'] } },
      { key: old, rest: other },
    );
    writeFileSync(path('key'), 'tooshort12345');
    await keys.look();
    expect(texts('single')).toEqual([]);
    expect(texts('rotating')).toEqual([other]);
    expect(lines).toMatchObject([
      {
        event: 'secret.refused',
        level: 'error',
        source: 'single',
        msg: expect.stringContaining('has 13 bytes'),
      },
      { event: 'secret.refused', level: 'error', source: 'rotating' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('tooshort');
    writeFileSync(path('key'), fresh);
    await keys.look();
    expect(texts('single')).toEqual([fresh]);
    expect(texts('rotating')).toEqual([fresh, other]);
  });

  it('[IN-12] an emptied or missing file fails closed after a second, and is mended by the former secret', async () => {
    const { keys, texts, lines, path } = keysOf(
      { emptied: { scheme, secretFile: 'key' }, gone: { scheme, secretFile: 'rest' } },
      { key: old, rest: other },
    );
    writeFileSync(path('key'), '');
    unlinkSync(path('rest'));
    const looking = keys.look();
    expect([texts('emptied'), texts('gone')]).toEqual([[old], [other]]);
    await looking;
    expect([texts('emptied'), texts('gone')]).toEqual([[], []]);
    for (const { event, msg } of lines) {
      expect(event).toBe('secret.refused');
      expect(msg).toContain('is empty or gone');
    }
    writeFileSync(path('key'), old);
    writeFileSync(path('rest'), other);
    await keys.look();
    expect([texts('emptied'), texts('gone')]).toEqual([[old], [other]]);
  });

  it('[IN-12] a file that was missing when it was first read is taken once it is there', async () => {
    const { keys, texts, path } = keysOf({ github: { scheme, secretFile: 'key' } });
    expect(texts('github')).toEqual([]);
    writeFileSync(path('key'), old, { mode: 0o600 });
    await keys.look();
    expect(texts('github')).toEqual([old]);
  });

  it('[SIG-5] a secret from the environment changes only at a restart', async () => {
    vi.stubEnv('POSTHORN_TEST_KEY', old);
    const config = { github: { scheme, secretEnv: 'POSTHORN_TEST_KEY' } };
    const { keys, texts } = keysOf(config);
    vi.stubEnv('POSTHORN_TEST_KEY', fresh);
    await keys.look();
    expect(texts('github')).toEqual([old]);
    expect(keysOf(config).texts('github')).toEqual([fresh]);
  });

  it('[IN-12] start and stop follow the files', async () => {
    const { keys, texts, path } = keysOf({ github: { scheme, secretFile: 'key' } }, { key: old });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    keys.start();
    writeFileSync(path('key'), fresh);
    vi.advanceTimersByTime(1_000);
    await vi.waitFor(() => expect(texts('github')).toEqual([fresh]));
    keys.stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});

it('[IN-12] secrets below the data directory are made when they are missing, others never', () => {
  const folder = mkdtempSync(join(root, 'case-'));
  const configs = {
    one: { scheme, secretFile: ['data:secrets/one', 'data:secrets/two'] },
    two: { scheme, secretFile: 'elsewhere' },
    three: { scheme, secretEnv: 'POSTHORN_TEST_KEY' },
    four: { scheme },
  };
  const wanted = [join(folder, 'secrets/one'), join(folder, 'secrets/two')];
  expect(makeMissingSecrets(configs, folder)).toEqual(wanted);
  expect(makeMissingSecrets(configs, folder)).toEqual([]);
  for (const path of wanted) {
    expect(readFileSync(path, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  const folders = { folder, dataDir: folder };
  expect(secretComplaints(configs, folders).map(({ path }) => path)).toEqual([
    'sources.two.secretFile',
    'sources.three.secretEnv',
  ]);
  const keys = createSourceKeys(configs, { ...folders, log: createLog({ level: 'silent' }) });
  expect(keys.of('one', 'scheme')).toHaveLength(2);
  expect(keys.of('two', 'scheme')).toEqual([]);
});
