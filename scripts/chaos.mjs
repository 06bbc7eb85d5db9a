/**
 * `npm run chaos [-- --seed N --minutes M ...]`: real servers and a real PostgreSQL under faults, held against a ledger.
 * Run by hand for long runs; a short one is among the journeys of `npm test`.
 */
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, run, stop } from './lib/prepare.mjs';

const usage = `npm run chaos [-- options]

  --seed N            the faults of an earlier run; default: a new seed, which is printed
  --minutes M         how long faults are dealt; default 5, a brief run up to 1
  --rate R            new events a second; default 150
  --drain-seconds S   how long everything may take to come to rest afterwards; default 300
  --clocks LIST       whose wall clocks jump, of gateway,worker; default both, "none" for none
  --json              write the result to chaos/results
  --results FOLDER    write it there instead

Exit code 0: nothing was lost, doubled or left undone. See chaos/README.md.
`;
const options = {
  help: { type: 'boolean', short: 'h' },
  seed: { type: 'string' },
  minutes: { type: 'string' },
  rate: { type: 'string' },
  'drain-seconds': { type: 'string' },
  clocks: { type: 'string' },
  json: { type: 'boolean' },
  results: { type: 'string' },
};

const { help, json, ...values } = parse();
if (help) {
  process.stdout.write(usage);
} else {
  for (const name of ['seed', 'minutes', 'rate', 'drain-seconds']) {
    if (values[name] !== undefined && !(Number(values[name]) > 0))
      stop(`--${name} must be a number above 0, not "${values[name]}".`, 2);
  }
  ensureInstalled();
  ensureBuilt();
  const args = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
  process.exitCode = run(['--import', 'tsx', 'chaos/chaos.ts', ...args, ...(json ? ['--json'] : [])]);
}

function parse() {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return stop(`${error.message}\n\n${usage}`, 2);
  }
}
