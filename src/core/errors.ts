/**
 * Broken machinery and wrong usage throw an AppError; expected outcomes are values (see outcome.ts).
 * Every code stands in docs/errors.md; test/docs.test.ts compares both ways.
 */
export const errorCodes = {
  CONFIG_NOT_FOUND: { exitCode: 2, status: 500 },
  CONFIG_INVALID: { exitCode: 2, status: 500 },
  USAGE: { exitCode: 2, status: 400 },
  DATA_DIR_IN_USE: { exitCode: 2, status: 503 },
  DATA_DIR_UNUSABLE: { exitCode: 2, status: 503 },
  EMBEDDED_POSTGRES_UNAVAILABLE: { exitCode: 2, status: 503 },
  EMBEDDED_POSTGRES_FAILED: { exitCode: 1, status: 503 },
  DATABASE_UNREACHABLE: { exitCode: 1, status: 503 },
  DATABASE_UNSUPPORTED: { exitCode: 2, status: 503 },
  SCHEMA_OUTDATED: { exitCode: 1, status: 503 },
  SCHEMA_NEWER: { exitCode: 2, status: 503 },
  MIGRATION_FAILED: { exitCode: 1, status: 503 },
  PORT_UNAVAILABLE: { exitCode: 2, status: 503 },
  HANDLER_MODULE_INVALID: { exitCode: 2, status: 500 },
  NOT_RUNNING: { exitCode: 1, status: 503 },
  NOT_FOUND: { exitCode: 1, status: 404 },
  STORAGE_UNAVAILABLE: { exitCode: 1, status: 503 },
} as const satisfies Record<string, { exitCode: 1 | 2; status: number }>;

export type ErrorCode = keyof typeof errorCodes;

/**
 * An error that a person can act on: `message` is one sentence that says what is wrong and what to do.
 * `exitCode` is what the command line ends with, `status` what HTTP would answer.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly exitCode: 1 | 2;
  readonly status: number;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
    this.exitCode = errorCodes[code].exitCode;
    this.status = errorCodes[code].status;
  }
}
