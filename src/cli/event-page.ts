import { isUtf8 } from 'node:buffer';
import type { EventDetail } from '../inbound/index.ts';
import { colour, printable, statusColour } from './table.ts';

const shownBodyBytes = 4_096;

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
    ...run.tries.map((attempt) => {
      const tookMs = attempt.endedAt.getTime() - attempt.startedAt.getTime();
      const error = attempt.error === null ? '' : `: ${printable(attempt.error.split('\n')[0] as string)}`;
      return `  try ${attempt.n}  ${attempt.endedAt.toISOString()}  ${attempt.outcome} after ${tookMs} ms${error}`;
    }),
    ...(run.status === 'waiting' ? [`  next try at ${run.nextAttemptAt.toISOString()}`] : []),
  ]);
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
  const text = start.toString('utf8').split('\n').map(printable).join('\n');
  return body.length > shownBodyBytes
    ? `${text}\n... (${body.length} bytes in all; --json gives them whole)`
    : text;
}
