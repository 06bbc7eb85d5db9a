import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import type { CommandEnd, Commands } from '../platform/commands/index.ts';
import { environment } from '../platform/config.ts';
import type { ExecConfig } from './handler-settings.ts';
import { type Handler, type HandlerEvent, HandlerVerdict } from './handlers.ts';

const mostOutputBytes = 64 * 1024;
/** sysexits.h: EX_TEMPFAIL. */
const tryLaterExitCode = 75;
const tryLaterMs = 60_000;
/** The shim ends the command at its time-out; the handler's own comes later, so that the output is kept. */
const endGraceMs = 10_000;
/** What Linux takes as one string of the environment, with name and NUL; Windows counts characters. */
const mostStringBytes = process.platform === 'win32' ? 32_767 : 131_072;
const passedOn = ['PATH', 'HOME', 'LANG', 'TZ'];

/**
 * A handler that runs a command (IN-18): the event in WEBHOOK_* variables, the body in a private file. Exit 0 is done,
 * 75 asks for a later try, anything else is a failed attempt.
 */
export function createExecHandler(
  { command, env, timeoutMs }: ExecConfig,
  { commands, folder }: { commands: Commands; folder: string },
): Pick<Handler, 'run' | 'timeoutMs'> {
  return {
    timeoutMs: timeoutMs + endGraceMs,
    run: async (event, { signal }) => {
      const [headers, body] = [await event.headers(), await event.body()];
      const end = await commands.withFile(body, (path) =>
        commands.run({
          command: resolveProgram(command, folder),
          cwd: folder,
          env: environmentOf(event, { headers, body, path, env }),
          timeoutMs,
          mostOutputBytes,
          signal,
        }),
      );
      return verdictOf(end, timeoutMs);
    },
  };
}

/** A program with a slash is a path, relative to the configuration's folder; another is looked for in PATH. */
export function resolveProgram([program = '', ...args]: readonly string[], folder: string): string[] {
  return [program.includes('/') ? resolve(folder, program) : program, ...args];
}

/** An allow-list: the service's own secrets never reach the command. */
function environmentOf(
  event: HandlerEvent,
  {
    headers,
    body,
    path,
    env,
  }: {
    headers: readonly (readonly [string, string])[];
    body: Buffer;
    path: string;
    env: Readonly<Record<string, string>>;
  },
): Record<string, string> {
  const inherited = passedOn.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(inherited),
    ...env,
    WEBHOOK_SOURCE: event.source,
    WEBHOOK_EVENT: event.eventType ?? '',
    WEBHOOK_EVENT_ID: event.eventId,
    WEBHOOK_RUN_ID: event.runId,
    WEBHOOK_HEADERS: JSON.stringify(joined(headers)),
    WEBHOOK_PAYLOAD_FILE: path,
    ...(fitsEnvironment('WEBHOOK_PAYLOAD', body) ? { WEBHOOK_PAYLOAD: body.toString('utf8') } : {}),
  };
}

/** Lower-case names; the values of a repeated one are joined, as HTTP allows. */
function joined(headers: readonly (readonly [string, string])[]): Record<string, string> {
  const byName = new Map<string, string>();
  for (const [name, value] of headers) {
    const known = byName.get(name.toLowerCase());
    byName.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
  }
  return Object.fromEntries(byName);
}

function fitsEnvironment(name: string, body: Buffer): boolean {
  return body.length + name.length + 2 <= mostStringBytes && !body.includes(0) && isUtf8(body);
}

function verdictOf(end: CommandEnd, timeoutMs: number): HandlerVerdict {
  const output = outputText(end);
  switch (end.how) {
    case 'exited':
      if (end.exitCode === 0) return new HandlerVerdict('done', { output });
      if (end.exitCode === tryLaterExitCode)
        return new HandlerVerdict('retry_later', {
          afterMs: tryLaterMs,
          reason: `the command asked for a later try (exit ${tryLaterExitCode})`,
          output,
        });
      return new HandlerVerdict('failed', {
        reason: `the command ended with exit code ${end.exitCode}`,
        output,
      });
    case 'killed':
      return new HandlerVerdict('failed', { reason: `the command was ended by ${end.signal}`, output });
    case 'timed_out':
      return new HandlerVerdict('timed_out', {
        reason: `the command took longer than ${timeoutMs} ms`,
        output,
      });
    case 'cancelled':
      return new HandlerVerdict('failed', { reason: 'the command was ended with its worker', output });
    case 'cannot_start':
      return new HandlerVerdict('failed', { reason: `the command cannot be started: ${end.reason}` });
  }
}

/** The end is what matters: the note takes its place from the beginning. */
function outputText({ output, omittedBytes }: CommandEnd): string {
  if (omittedBytes === 0) return output.toString('utf8');
  const kept = output.subarray(mostNoteBytes);
  return `[${omittedBytes + output.length - kept.length} bytes before this are left out]\n${kept.toString('utf8')}`;
}
const mostNoteBytes = 64;
