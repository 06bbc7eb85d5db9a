import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const defaultFolder = fileURLToPath(new URL('../results/', import.meta.url));

/** Writes bench/results/<name>.json: what was measured, on what, with which settings. */
export function writeResults(name: string, settings: object, results: object, folder = defaultFolder): void {
  const machine = {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${platform()} ${arch()}`,
    node: process.version,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ machine, settings, results }, null, 2)}\n`);
}

/** A table with right-aligned numbers. */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => String(row[column] ?? '').length)),
  );
  const line = (cells: (string | number)[]) =>
    cells
      .map((cell, at) =>
        at === 0 ? String(cell).padEnd(widths[at] as number) : String(cell).padStart(widths[at] as number),
      )
      .join('  ');
  console.log(line(columns));
  for (const row of rows) console.log(line(columns.map((column) => row[column] ?? '')));
}
