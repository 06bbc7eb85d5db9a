/**
 * `npm run bench [-- name [arguments]]`: one benchmark of bench/, or the list of them and then all in turn.
 * They are run by hand, not timed by `npm test`: a figure means something only beside its baseline of the same run.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { ensureBuilt, ensureInstalled, root, run, stop } from './lib/prepare.mjs';

const names = readdirSync(`${root}bench`)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
  .sort();
const [wanted, ...extra] = process.argv.slice(2);
if (wanted && !names.includes(wanted))
  stop(`there is no bench "${wanted}"; there are: ${names.join(', ')}`, 2);

ensureInstalled();
ensureBuilt();
if (!wanted) for (const name of names) console.log(`${name.padEnd(24)}${purpose(name)}`);
for (const name of wanted ? [wanted] : names) {
  console.log(`\n${name}`);
  if (run(['--import', 'tsx', `bench/${name}.ts`, ...extra]) !== 0) process.exitCode = 1;
}

/** The first line of the header comment. */
function purpose(name) {
  const [header] = readFileSync(`${root}bench/${name}.ts`, 'utf8').match(/[^/*\s].*/) ?? [''];
  return header.replace(/\s*\*\/$/, '');
}
