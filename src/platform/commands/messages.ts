/** What a process and its shim say to each other over IPC. */
export type ToShim =
  | {
      readonly type: 'run';
      readonly id: number;
      readonly command: readonly string[];
      readonly cwd: string;
      /** The whole environment of the command. */
      readonly env: Readonly<Record<string, string>>;
      readonly timeoutMs: number;
      readonly mostOutputBytes: number;
    }
  | { readonly type: 'cancel'; readonly id: number }
  /** Sent every second: its absence means that the process stands still. */
  | { readonly type: 'beat' };

/** How a command ended. `cannot_start` says in `reason` why. */
export type CommandEnd = (
  | { readonly how: 'exited'; readonly exitCode: number }
  | { readonly how: 'killed'; readonly signal: string }
  | { readonly how: 'timed_out' | 'cancelled' }
  | { readonly how: 'cannot_start'; readonly reason: string }
) & {
  /** The end of what it wrote to stdout and stderr. */
  readonly output: Buffer;
  readonly omittedBytes: number;
};

export type FromShim =
  | { readonly type: 'started'; readonly id: number; readonly pid: number }
  | { readonly type: 'ended'; readonly id: number; readonly end: CommandEnd };
