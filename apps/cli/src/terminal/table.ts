import { stripVTControlCharacters } from 'node:util';

// cli-table3 can be made to print this, but takes 5 s for 5,000 rows and pads the last column.

/** Scripts whose letters take two columns: Hangul, CJK, kana, full-width forms, emoji. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|[\u{20000}-\u{3FFFD}]/gu;
const COMBINING = /\p{Mark}|\u200D/gu;
/**
 * Every control character except the newline is shown, not sent. Colours are no exception: nobody colours a cell, and a
 * name that brings its own could hide what stands behind it.
 */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** What stands in a cell; undefined: a member that the answer lacks (CL-410). */
export type Cell = string | undefined;

/** Rows in columns two spaces apart; the first row is the header. Empty cells show `<none>` (CL-137). */
export function table(rows: readonly (readonly Cell[])[], blank = '<none>'): string {
  return columns(rows, '  ', blank);
}

/** `key = value` lines (CL-138). */
export function keyValues(rows: readonly (readonly [string, Cell])[]): string {
  return columns(rows, ' = ', '<none>');
}

/** A row that comes alone: columns of the given widths at least, a longer cell pushes the rest. */
export function fixedRow(cells: readonly Cell[], widths: readonly number[]): string {
  const shown = cells.map((cell = '') => escapeControls(cell) || '<none>');
  return shown.map((cell, i) => (i === shown.length - 1 ? cell : padded(cell, widths[i] ?? 0))).join('  ');
}

function columns(rows: readonly (readonly Cell[])[], gap: string, blank: string): string {
  const cells = rows.map((row) => row.map((cell) => cellLines(cell, blank)));
  const widths: number[] = [];
  for (const row of cells)
    for (const [i, lines] of row.entries())
      widths[i] = lines.reduce((max, line) => Math.max(max, widthOf(line)), widths[i] ?? 0);
  return cells.map((row) => rowText(row, widths, gap)).join('\n');
}

/** A cell with several lines makes a row of several lines; the columns stay (CL-139). */
function rowText(row: readonly (readonly string[])[], widths: readonly number[], gap: string): string {
  const height = Math.max(1, ...row.map((lines) => lines.length));
  const last = row.length - 1;
  const line = (n: number) =>
    row.map((cell, i) => (i === last ? (cell[n] ?? '') : padded(cell[n] ?? '', widths[i] ?? 0)));
  return Array.from({ length: height }, (_, n) =>
    line(n)
      .join(n === 0 ? gap : ' '.repeat(gap.length))
      .trimEnd(),
  ).join('\n');
}

function cellLines(cell: Cell, blank: string): string[] {
  const text = escapeControls((cell ?? '').trim());
  return text === '' ? [blank] : text.split('\n');
}

/** CL-139: what another user typed must not drive the terminal. */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROL, (found) => `\\x${found.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Columns a terminal needs for a text. */
export function widthOf(text: string): number {
  const plain = stripVTControlCharacters(text).replaceAll(COMBINING, '');
  return Array.from(plain).length + (plain.match(WIDE)?.length ?? 0);
}
