/** What proc_pid_stat(5) says of a process: `pid (name) state ppid pgrp session ...`. */
export type ProcessStat = { readonly state: string; readonly group: number; readonly session: number };

/** The name stands in brackets and may hold anything, brackets too: what is meant follows the last one. */
export function parseProcessStat(text: string): ProcessStat {
  const [state = '', , group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state, group: Number(group), session: Number(session) };
}
