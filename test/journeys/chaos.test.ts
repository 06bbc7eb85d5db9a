import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../chaos/lib/random.ts';
import { isGood, type Report } from '../../chaos/lib/report.ts';
import { dealFaults, kindsOf } from '../../chaos/lib/schedule.ts';
import { repository } from '../support/server.ts';

/** A brief run of the fault test: each kind of short fault at least once, then everything must come to rest. */
const seed = Math.floor(Math.random() * 2 ** 31);
const results = mkdtempSync(join(tmpdir(), 'posthorn-chaos-results-'));
let report: Report;
let output = '';

beforeAll(async () => {
  // It ends by itself and says what is left over, before this hook would be cut off without a word.
  const options = ['--minutes', '0.5', '--rate', '100', '--seed', String(seed), '--drain-seconds', '90'];
  const chaos = spawn(
    process.execPath,
    ['--import', 'tsx', 'chaos/chaos.ts', ...options, '--json', '--results', results],
    { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  for (const stream of [chaos.stdout, chaos.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await once(chaos, 'close');
  try {
    report = JSON.parse(readFileSync(join(results, 'chaos-0.5-minutes.json'), 'utf8')).results;
  } catch {
    throw new Error(`the run with seed ${seed} ended without a result:\n${output}`);
  }
  if (!isGood(report)) console.log(output);
}, 240_000);

afterAll(() => rmSync(results, { recursive: true, force: true }));

describe(`with seed ${seed}`, () => {
  const kindsMet = () => Object.keys(report.faults);

  it('[SAFE-1] gateways, workers and their children are killed at random: nothing is lost or doubled', () => {
    expect(kindsMet()).toEqual(expect.arrayContaining(kindsOf('processes', new Set())));
    expect(isGood(report), output).toBe(true);
    expect(report.servers.endedByThemselves).toBe(0);
  });

  it('[SAFE-2] PostgreSQL killed, restarted, cut off, paused, read-only, full: nothing acknowledged is lost', () => {
    const leftOut = new Set(report.leftOut.length > 0 ? (['disk full'] as const) : []);
    expect(kindsMet()).toEqual(expect.arrayContaining(kindsOf('postgres', leftOut)));
    expect(report.verdict).toMatchObject({ lost: 0, doubledEffects: 0, acknowledgedWithoutRow: 0 });
    expect(report.verdict.runOnce).toBeGreaterThan(500);
    expect(report.sent.acknowledged).toBe(report.sent.events);
  });

  it('[SAFE-5] wall clocks of servers that jump by up to an hour leave no event undone', () => {
    expect(report.clock.jumps).toBeGreaterThan(0);
    // By its own clock a gateway would take nearly everything for stale; a start that cannot ask the database may for 5 s.
    expect(report.answers['401'] ?? 0).toBeLessThan(report.sent.acknowledged / 10);
    expect(report.isDrained, output).toBe(true);
    expect(report.verdict.stuckInProcessing).toBe(0);
  });

  it('[SAFE-6] two gateways and two workers that start and migrate at the same instant work side by side', () => {
    expect(report.startedAtOnce).toBe(4);
    expect(report.servers.stoppedGently).toBe(4);
    expect(report.verdict.doubledEffects).toBe(0);
  });
});

it('the same seed deals the same faults', () => {
  const dealt = (random: Random) => {
    const faults = dealFaults('postgres', { random, isBrief: false, leftOut: new Set() });
    return Array.from({ length: 50 }, () => faults.next().value);
  };
  expect(dealt(new Random(7))).toEqual(dealt(new Random(7)));
  expect(dealt(new Random(7))).not.toEqual(dealt(new Random(8)));
});
