import { isUtf8 } from 'node:buffer';
import type { EventDetail } from '../inbound/index.ts';
import { colour, printable, printableLines, statusColour } from './table.ts';

const shownBodyBytes = 4_096;
const shownOutputCharacters = 2_000;
const shownOutputLines = 20;

/** One event for people: what arrived, then what happened to it. */
export function formatEvent(event: EventDetail): string {
  const facts: [string, string | null][] = [
    ['event', String(event.id)],
    ['source', event.source],
    [
      'status',
      statusColour(event.status)(event.reason === null ? event.status : `${event.status} (${event.reason})`),
    ],
    ['event id', event.eventId],
    ['claimed id', event.claimedEventId],
    ['type', event.eventType],
    ['site', event.site],
    ['received', event.receivedAt.toISOString()],
    ['processed', event.processedAt?.toISOString() ?? null],
    ['from', event.clientIp],
    ['size', `${event.size} bytes`],
  ];
  const lines = facts.flatMap(([name, value]) =>
    value === null ? [] : [`${name.padEnd(12)}${name === 'status' ? value : printable(value)}`],
  );
  return `${[...lines, ...runLines(event), ...requestLines(event)].join('\n')}\n`;
}

function runLines(event: EventDetail): string[] {
  return event.runs.flatMap((run) => [
    '',
    `${colour.bold(run.handler)}  ${statusColour(run.status)(run.status)}`,
    ...run.tries.flatMap((attempt) => {
      const tookMs = attempt.endedAt.getTime() - attempt.startedAt.getTime();
      const error = attempt.error === null ? '' : `: ${printable(attempt.error.split('\n')[0] as string)}`;
      const line = `  try ${attempt.n}  ${attempt.endedAt.toISOString()}  ${attempt.outcome} after ${tookMs} ms${error}`;
      return [line, ...outputLines(attempt.output ?? '')];
    }),
    ...(run.status === 'waiting' ? [`  next try at ${run.nextAttemptAt.toISOString()}`] : []),
  ]);
}

/** The end of what was said, indented: there a command says why it failed. */
function outputLines(output: string): string[] {
  const text = output.trimEnd();
  if (text === '') return [];
  const end = text.slice(-shownOutputCharacters);
  const kept = end.split('\n').slice(-shownOutputLines).join('\n');
  const omitted = text.length - kept.length;
  const note = omitted === 0 ? [] : [`(${omitted} characters before this; --json gives them whole)`];
  return [...note, ...printableLines(kept)].map((line) => `      ${line}`.trimEnd());
}

function requestLines(event: EventDetail): string[] {
  if (event.method === null) return [];
  const query = event.query ? `?${event.query}` : '';
  const headers = (event.headers ?? []).map(([name, value]) => `${name}: ${printable(value)}`);
  return [
    '',
    `${event.method} /api/v1/webhooks/${event.source}${printable(query)}`,
    ...headers,
    '',
    bodyText(event.body),
  ];
}

function bodyText(body: Buffer | null): string {
  if (body === null || body.length === 0) return '(no body)';
  const start = body.subarray(0, shownBodyBytes);
  if (!isUtf8(body))
    return `(${body.length} bytes that are not text; posthorn events show --json gives them)`;
  const text = printableLines(start.toString('utf8')).join('\n');
  return body.length > shownBodyBytes
    ? `${text}\n... (${body.length} bytes in all; --json gives them whole)`
    : text;
}
