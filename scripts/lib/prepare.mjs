/**
 * What every script needs before it can begin: a Node that is new enough, the dependencies, a build.
 * It runs on a fresh clone, so it uses node: builtins only, and it talks on stderr: stdout belongs to what is started.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const inRoot = (...parts) => join(root, ...parts);

/** Installs the dependencies unless those of this package-lock.json are there already. */
export function ensureInstalled() {
  checkNode();
  const stamp = inRoot('node_modules/.posthorn-installed');
  const wanted = sha256(readFileSync(inRoot('package-lock.json')));
  if (readOrEmpty(stamp) === wanted) return;
  if (!installedByHand()) {
    say('installing the dependencies (npm ci)');
    // Development and optional packages are named: NODE_ENV=production or an omit setting would leave out the compiler.
    const code = npm([
      'ci',
      '--ignore-scripts',
      '--include=dev',
      '--include=optional',
      '--no-audit',
      '--no-fund',
    ]);
    if (code !== 0) {
      stop(
        `npm ci ended with ${code}: see its words above, check the network and npm's settings, then run this again.`,
        1,
      );
    }
  }
  try {
    writeFileSync(stamp, wanted);
  } catch {
    // Installed by another user: without the stamp the comparison of dates is repeated at the next start.
  }
}

/** Builds dist/ unless it was built from these very sources. */
export function ensureBuilt() {
  const dist = inRoot('dist');
  const wanted = hashOfSources();
  if (readOrEmpty(join(dist, '.build-hash')) === wanted) return;
  say('building');
  removeLeftOvers();
  // Built beside dist/ (same depth, for the source maps) and swapped in whole: no stale file stays, and a second build
  // at the same time has its own folder.
  const fresh = inRoot(`dist.new-${process.pid}`);
  rmSync(fresh, { recursive: true, force: true });
  const code = run(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--outDir', fresh]);
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    stop('the build failed: correct the errors above, then run this again.', 1);
  }
  const command = join(fresh, 'cli/posthorn.js');
  if (existsSync(command)) chmodSync(command, 0o755);
  writeFileSync(join(fresh, '.build-hash'), wanted);
  swap(fresh, dist, wanted);
}

/** Runs this Node in the repository's root with the terminal shared; returns the exit code. */
export function run(args, { env = process.env, node = process.execPath, timeoutMs } = {}) {
  const child = spawnSync(node, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: timeoutMs,
  });
  if (child.error)
    say(child.error.code === 'ETIMEDOUT' ? `stopped after ${timeoutMs / 1000} s` : child.error.message);
  return child.status ?? 1;
}

/** Runs npm, the same one that started us where there is one; returns the exit code. */
export function npm(args) {
  const outer = process.env.npm_execpath ?? '';
  const same = basename(outer) === 'npm-cli.js' && existsSync(outer);
  const [command, first] = same ? [process.execPath, [outer]] : ['npm', []];
  const options = { cwd: root, env: environmentForNpm(), stdio: ['ignore', 2, 2] };
  const child = spawnSync(command, [...first, ...args], options);
  if (child.error)
    stop(`npm could not be started (${child.error.message}): install Node.js together with npm.`, 2);
  return child.status ?? 1;
}

/** Installs one package, `version` exact or a major, into a folder of its own outside package.json; returns its folder. */
export function installApart(folder, name, version) {
  const target = inRoot(folder, 'node_modules', name);
  const present = JSON.parse(readOrEmpty(join(target, 'package.json')) || '{}').version ?? '';
  if (`${present}.`.startsWith(`${version}.`)) return target;
  say(`installing ${name}@${version} into ${folder}`);
  const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund'];
  const code = npm(['install', '--prefix', inRoot(folder), ...flags, `${name}@${version}`]);
  if (code !== 0)
    stop(`npm install of ${name}@${version} ended with ${code}: check the network, then run this again.`, 1);
  return target;
}

export function say(sentence) {
  process.stderr.write(`posthorn: ${sentence}\n`);
}

export function stop(sentence, exitCode) {
  say(sentence);
  process.exit(exitCode);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  stop(`Posthorn needs Node.js 20.19 or newer, this is ${process.versions.node}: install a newer one.`, 2);
}

/** npm writes node_modules/.package-lock.json last, so a date after ours means that `npm install` finished with it. */
function installedByHand() {
  try {
    return (
      statSync(inRoot('node_modules/.package-lock.json')).mtimeMs >=
      statSync(inRoot('package-lock.json')).mtimeMs
    );
  } catch {
    return false;
  }
}

/**
 * npm hands its scripts its own settings as variables. Those that say where and what the outer npm works on would
 * misdirect a nested one; those that say how to reach the registry must stay.
 */
function environmentForNpm() {
  const misleading =
    /^npm_(lifecycle_|package_|command$|config_(local_prefix|global_prefix|prefix|global|location|dry_run|workspaces?|omit|include|only|production|package_lock|package_lock_only|ignore_scripts)$)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !misleading.test(name)));
}

/** The contents, not the dates: a checkout that changes nothing but dates builds nothing. */
function hashOfSources() {
  const files = readdirSync(inRoot('src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  const hash = createHash('sha256');
  for (const file of [
    ...files,
    ...['tsconfig.json', 'package.json', 'package-lock.json'].map((name) => inRoot(name)),
  ]) {
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Of two builds of the same sources the first stays: whoever runs from it already must not lose files under its feet. */
function swap(fresh, dist, wanted) {
  const old = inRoot(`dist.old-${process.pid}`);
  for (let attempt = 0; attempt < 100 && existsSync(fresh); attempt += 1) {
    if (readOrEmpty(join(dist, '.build-hash')) === wanted) break;
    moveIfPresent(dist, old);
    moveIfPresent(fresh, dist);
    rmSync(old, { recursive: true, force: true });
  }
  rmSync(fresh, { recursive: true, force: true });
}

function moveIfPresent(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    // ENOENT, ENOTEMPTY, EEXIST: another build swapped at this very moment; the caller looks again.
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
  }
}

/** Folders of builds that were killed: their process is gone. */
function removeLeftOvers() {
  for (const name of readdirSync(root)) {
    const pid = Number(/^dist\.(?:new|old)-(\d+)$/.exec(name)?.[1]);
    if (pid && !isAlive(pid)) rmSync(inRoot(name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function readOrEmpty(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
