import { expect, it } from 'vitest';
import type { EventDetail } from '../inbound/index.ts';
import { formatEvent } from './event-page.ts';

const at = new Date('2026-03-01T10:00:00Z');

/** The lines of the page below the run of an event with one try that said this. */
function linesOf(output: string | null): string[] {
  const attempt = { n: 1, startedAt: at, endedAt: at, outcome: 'failed', error: 'exit code 1', output };
  const run = { id: 'r', handler: 'deploy', status: 'failed', attempts: 1, nextAttemptAt: at };
  const event: EventDetail = {
    ...{ id: 1, source: 'shop', eventId: 'e', eventType: null, status: 'failed', reason: null },
    ...{ claimedEventId: null, site: null, size: 0, via: 'direct', clientIp: null, processedAt: null },
    ...{ method: null, query: null, contentType: null, headers: null, body: null },
    ...{ receivedAt: at, createdAt: at, runs: [{ ...run, tries: [attempt] }] },
  };
  const lines = formatEvent(event).trimEnd().split('\n');
  return lines.slice(lines.findIndex((line) => line.includes('try 1')) + 1);
}

it('[CLI-2] events show gives what a try said, indented below it', () => {
  expect(linesOf('building\r\n\n\tno space left\n')).toEqual([
    '      building',
    '',
    '          no space left',
  ]);
  for (const nothing of [null, '', ' \n']) expect(linesOf(nothing)).toEqual([]);
});

it('[CLI-2] what a try said reaches the terminal without its control characters', () => {
  expect(linesOf('10 %\r\u001b[31mred\u001b[0m \u202e\u0007 done')).toEqual([
    '      10 %\uFFFD\uFFFD[31mred\uFFFD[0m \uFFFD\uFFFD done',
  ]);
});

it('[CLI-2] of a long output the end is shown, and how much stands before it', () => {
  const text = Array.from({ length: 100 }, (_, n) => `line ${n}`).join('\n');
  const lines = linesOf(text);
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe('      line 99');
  const shown = lines
    .slice(1)
    .map((line) => line.slice(6))
    .join('\n');
  expect(lines[0]).toBe(
    `      (${text.length - shown.length} characters before this; --json gives them whole)`,
  );
  expect(linesOf('x'.repeat(64_000))).toEqual([
    '      (62000 characters before this; --json gives them whole)',
    `      ${'x'.repeat(2_000)}`,
  ]);
});
