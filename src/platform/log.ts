import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * One JSON object a line on stdout, or coloured lines for people where stdout is a terminal.
 * Log events are named `noun.verb_past` in the field `event`; no secret, body or token is ever passed in.
 * Written synchronously: a process that is about to die must not lose its last words.
 */
export function createLog(options: { level: LogLevel; name?: string; destination?: DestinationStream }): Log {
  const destination =
    options.destination ?? (process.stdout.isTTY ? lines() : pino.destination({ sync: true }));
  return pino(
    {
      level: options.level,
      base: options.name ? { process: options.name } : null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  );
}

function lines(): DestinationStream {
  return pretty({ colorize: true, sync: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'process,event' });
}
