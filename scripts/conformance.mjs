/**
 * `npm run conformance [-- --check]`: writes docs/conformance.md, which test proves which requirement.
 * `--check` only compares.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { conformance } from './lib/conformance.mjs';
import { root, say, stop } from './lib/prepare.mjs';

const file = `${root}docs/conformance.md`;
const { markdown } = conformance(root);
if (process.argv.includes('--check')) {
  let present = '';
  try {
    present = readFileSync(file, 'utf8');
  } catch {
    // A missing file differs like any other.
  }
  if (present !== markdown)
    stop('docs/conformance.md is out of date: run `npm run conformance` and commit it.', 1);
} else {
  writeFileSync(file, markdown);
  say('wrote docs/conformance.md');
}
