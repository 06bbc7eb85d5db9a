/**
 * `npm test`: everything from a fresh clone: lint, types, then each layer of tests against its time budget.
 * `npm test -- <layer> [filter...]` runs one layer, or the files in it whose path holds a filter.
 * The last line is `N passed, N failed` alone: `.ci/run` and people read it.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { ensureBuilt, ensureInstalled, root, run, stop } from './lib/prepare.mjs';

const budgetSeconds = { unit: 60, integration: 240, journeys: 300 };
const [only, ...filters] = process.argv.slice(2);
if (only && !(only in budgetSeconds)) {
  stop(`usage: npm test [-- ${Object.keys(budgetSeconds).join('|')} [filter...]]`, 2);
}

const total = { passed: 0, failed: 0, skipped: 0 };
// Written on the way out, so that a failed build or a crash of this script has its closing line too.
process.on('exit', (code) => {
  if (code !== 0 && total.failed === 0) total.failed = 1;
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
});

ensureInstalled();
// Unit tests run from the sources.
if (only !== 'unit') ensureBuilt();
if (!only) {
  check('lint', ['node_modules/@biomejs/biome/bin/biome', 'check']);
  check('types', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json']);
}
const results = (only ? [only] : Object.keys(budgetSeconds)).map(runLayer);
report(results);
process.exitCode = total.failed > 0 ? 1 : 0;

function check(name, args) {
  const started = Date.now();
  if (run(args) === 0) {
    console.log(`${name}: passed in ${seconds(started)} s`);
    return;
  }
  console.log(`${name}: FAILED (counted as one failed test)`);
  total.failed += 1;
}

function runLayer(layer) {
  const file = `${root}test-results/${layer}.json`;
  mkdirSync(`${root}test-results`, { recursive: true });
  rmSync(file, { force: true });
  console.log(`\n${layer}`);
  const started = Date.now();
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', layer, ...reporters, ...filters];
  // Four budgets long means that it hangs; a report without that layer is better than none.
  const code = run(args, { timeoutMs: budgetSeconds[layer] * 4000 });
  const counts = readCounts(file, layer, code);
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  return { layer, ...counts, seconds: seconds(started), budget: budgetSeconds[layer] };
}

function readCounts(file, layer, code) {
  let json;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    console.log(`${layer}: ended with ${code} and no report (counted as one failed test)`);
    return { tests: 0, passed: 0, failed: 1, skipped: 0 };
  }
  const counts = {
    tests: json.numTotalTests,
    passed: json.numPassedTests,
    failed: json.numFailedTests + failedOutsideTests(json),
    skipped: json.numPendingTests + json.numTodoTests,
  };
  if (counts.tests === 0) console.log(`${layer}: no test ran (counted as one failed test)`);
  if (counts.failed === 0 && (code !== 0 || counts.tests === 0)) counts.failed = 1;
  return counts;
}

/** Files that failed although no test in them did: an import, a hook, a leak. */
function failedOutsideTests(json) {
  return json.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
}

function report(rows) {
  const columns = ['layer', 'tests', 'passed', 'failed', 'skipped', 'seconds', 'budget'];
  const line = (cells) =>
    cells.map((cell, at) => (at === 0 ? `${cell}`.padEnd(12) : `${cell}`.padStart(9))).join('');
  console.log(`\n${line(columns)}`);
  for (const row of rows) console.log(line(columns.map((column) => row[column])));
  for (const row of rows) {
    if (row.seconds > row.budget)
      console.log(`WARNING: ${row.layer} took ${row.seconds} s, its budget is ${row.budget} s`);
  }
}

function seconds(started) {
  return Math.round((Date.now() - started) / 100) / 10;
}
