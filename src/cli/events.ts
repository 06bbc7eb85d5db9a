import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { AppError } from '../core/errors.ts';
import { type EventLine, findEvent, listEvents, startTail } from '../inbound/index.ts';
import type { Pool } from '../platform/db.ts';
import { createLog } from '../platform/log.ts';
import { requireCurrentSchema } from '../platform/migrate.ts';
import { borrowDatabase, type Flags, loadConfiguration, withPool } from '../run/index.ts';
import { formatEvent } from './event-page.ts';
import { type Column, formatTable, statusColour } from './table.ts';

const mostPerPage = 1_000;

export function eventsCommand(): Command {
  const events = new Command('events').description('Look at the journal');
  withDatabaseOptions(events.command('list'))
    .description('The latest events, newest first')
    .option('--limit <n>', `how many, at most ${mostPerPage}`, '20')
    .option('--cursor <cursor>', 'where the page before ended (meta.next of --json)')
    .option('--json', 'print {data, meta: {next}}')
    .addHelpText('after', '\nExample:\n  posthorn events list --limit 50')
    .action((options: Flags & { limit: string; cursor?: string; json?: boolean }) => list(options));
  withDatabaseOptions(events.command('show'))
    .argument('<id>', 'the id of the event, as list shows it')
    .description('One event: what arrived and what became of it')
    .option('--json', 'print it as one JSON object')
    .addHelpText('after', '\nExample:\n  posthorn events show 42')
    .action((id: string, options: Flags & { json?: boolean }) => show(id, options));
  withDatabaseOptions(events.command('tail'))
    .description('Events as they arrive, and once more when their handlers are done, until interrupted')
    .option('--json', 'print one JSON object a line; of two with one id the later one says what became of it')
    .option('--limit <n>', 'end after this many lines')
    .addHelpText('after', '\nExample:\n  posthorn events tail --json')
    .action((options: Flags & { json?: boolean; limit?: string }) => tail(options));
  return events;
}

function withDatabaseOptions(command: Command): Command {
  return command
    .option('-c, --config <file>', 'the configuration file')
    .option('--data-dir <folder>', 'the data directory of an embedded database');
}

async function list(options: Flags & { limit: string; cursor?: string; json?: boolean }): Promise<void> {
  const limit = wholeNumber('--limit', options.limit, mostPerPage);
  const beforeId = options.cursor === undefined ? undefined : parseCursor(options.cursor);
  const rows = await withJournal(options, (pool) => listEvents(pool, { limit: limit + 1, beforeId }));
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? cursorOf((page.at(-1) as EventLine).id) : null;
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ data: page, meta: { next } })}\n`);
    return;
  }
  process.stdout.write(page.length === 0 ? 'no events yet\n' : formatTable(columns, page));
  if (next !== null) process.stdout.write(`\nmore: posthorn events list --limit ${limit} --cursor ${next}\n`);
}

async function show(id: string, options: Flags & { json?: boolean }): Promise<void> {
  const event = await withJournal(options, (pool) =>
    findEvent(pool, wholeNumber('the id', id, Number.MAX_SAFE_INTEGER)),
  );
  if (event === undefined)
    throw new AppError('NOT_FOUND', `There is no event ${id}; see: posthorn events list`);
  const body = event.body?.toString('base64') ?? null;
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ ...event, body: undefined, bodyBase64: body })}\n`
      : formatEvent(event),
  );
}

async function tail(options: Flags & { json?: boolean; limit?: string }): Promise<void> {
  let left =
    options.limit === undefined
      ? Number.POSITIVE_INFINITY
      : wholeNumber('--limit', options.limit, Number.MAX_SAFE_INTEGER);
  let isInterrupted = false;
  process.once('SIGINT', () => {
    isInterrupted = true;
  });
  await withJournal(options, async (pool) => {
    const journal = await startTail(pool);
    while (left > 0 && !isInterrupted) {
      const lines = (await journal.look()).slice(0, left);
      for (const line of lines)
        process.stdout.write(options.json ? `${JSON.stringify(line)}\n` : tailLine(line));
      left -= lines.length;
      if (left > 0 && !isInterrupted) await wait(250);
    }
  });
}

async function withJournal<T>(flags: Flags, work: (pool: Pool) => Promise<T>): Promise<T> {
  const configuration = await loadConfiguration(flags);
  const log = createLog({ level: 'warn' });
  const database = await borrowDatabase(configuration, log);
  try {
    return await withPool(database.address, log, async (pool) => {
      await requireCurrentSchema(pool);
      return work(pool);
    });
  } finally {
    await database.stop();
  }
}

const columns: Column<EventLine>[] = [
  { title: 'id', text: ({ id }) => String(id), right: true },
  { title: 'received', text: ({ receivedAt }) => receivedAt.toISOString() },
  { title: 'source', text: ({ source }) => source },
  { title: 'type', text: ({ eventType }) => eventType ?? '-' },
  { title: 'event id', text: ({ eventId }) => eventId ?? '-' },
  { title: 'status', text: statusText, colour: ({ status }) => statusColour(status) },
];

function statusText({ status, reason }: EventLine): string {
  return reason === null ? status : `${status}: ${reason.replaceAll('_', ' ')}`;
}

function tailLine(line: EventLine): string {
  return `${columns.map((column) => (column.colour?.(line) ?? ((text: string) => text))(column.text(line))).join('  ')}\n`;
}

function wholeNumber(what: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= 1 && value <= most) return value;
  throw new AppError(
    'USAGE',
    `${what} must be a whole number from 1 to ${most}, not ${JSON.stringify(text.slice(0, 50))}.`,
  );
}

function cursorOf(id: number): string {
  return Buffer.from(`before:${id}`).toString('base64url');
}

function parseCursor(cursor: string): number {
  const found = /^before:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (found?.[1] !== undefined) return Number(found[1]);
  throw new AppError(
    'USAGE',
    '--cursor is not one that events list --json gave (meta.next); leave it out for the first page.',
  );
}
