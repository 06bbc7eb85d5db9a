import { environment } from '../platform/config.ts';

/** Colour for people: off when not a terminal, or where NO_COLOR is set. */
const isColoured = process.stdout.isTTY === true && !environment.NO_COLOR;
const paint = (code: number) => (text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);

export const colour = {
  green: paint(32),
  red: paint(31),
  yellow: paint(33),
  blue: paint(34),
  grey: paint(90),
  bold: paint(1),
};

/** The colour of a status, with the same meaning everywhere. */
export function statusColour(status: string): (text: string) => string {
  if (status === 'success' || status === 'done') return colour.green;
  if (status === 'failed' || status === 'rejected') return colour.red;
  if (status === 'quarantined') return colour.yellow;
  return status === 'skipped' || status === 'handshake' ? colour.grey : colour.blue;
}

export type Column<T> = {
  readonly title: string;
  text(row: T): string;
  colour?(row: T): (text: string) => string;
  right?: boolean;
};

/** A table with aligned columns; widths count the text without its colour. */
export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const cells = rows.map((row) => columns.map((column) => printable(column.text(row))));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((row) => (row[at] as string).length)),
  );
  const pad = (text: string, at: number) =>
    columns[at]?.right
      ? text.padStart(widths[at] as number)
      : at === columns.length - 1
        ? text
        : text.padEnd(widths[at] as number);
  const head = columns.map(({ title }, at) => colour.bold(pad(title, at))).join('  ');
  const lines = cells.map((row, index) =>
    row
      .map((text, at) =>
        (columns[at]?.colour?.(rows[index] as T) ?? ((plain: string) => plain))(pad(text, at)),
      )
      .join('  '),
  );
  return `${[head, ...lines].join('\n')}\n`;
}

/** What senders wrote is shown as text: control characters must not reach the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD');
}

/** The same for a text of several lines; tabs become spaces. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => printable(line.replaceAll('\t', '    ')));
}
