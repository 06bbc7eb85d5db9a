/**
 * `npm run test:node -- 22|24 [arguments of npm test]`: the suite on another Node that npm carries.
 * That Node also stands first on PATH, because journeys start processes by name.
 */
import { dirname } from 'node:path';
import { ensureInstalled, installApart, root, run, stop } from './lib/prepare.mjs';

const majors = ['22', '24'];
const platforms = ['linux-x64', 'linux-arm64'];
const platform = `${process.platform}-${process.arch}`;
const [major, ...extra] = process.argv.slice(2);
if (!majors.includes(major)) stop(`usage: npm run test:node -- ${majors.join('|')}`, 2);
if (!platforms.includes(platform))
  stop(`npm carries no Node.js for ${platform}, only ${platforms.join(', ')}.`, 2);

ensureInstalled();
const node = `${installApart(`.posthorn/node-${major}`, `node-${platform}`, major)}/bin/node`;
process.exitCode = run([`${root}scripts/test.mjs`, ...extra], {
  node,
  env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
});
