import { stripVTControlCharacters } from 'node:util';

// cli-table3 could print this, but takes 5 s for 5,000 rows and pads the last column.

/** Scripts whose letters are two columns wide: Hangul, CJK, kana, full-width forms, emoji. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|[\u{20000}-\u{3FFFD}]/gu;
const COMBINING = /\p{Mark}|\u200D/gu;
/**
 * Every control character except the newline, which is escaped in output. Colours are no exception: cells are never
 * coloured, and colours in a name could hide the text after it.
 */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Content of a cell. Undefined stands for a member that the response lacks (CL-410). */
export type Cell = string | undefined;

/** Formats rows in columns two spaces apart. The first row is the header. Empty cells show `<none>` (CL-137). */
export function table(rows: readonly (readonly Cell[])[], blank = '<none>'): string {
  return columns(rows, '  ', blank);
}

/** Formats `key = value` lines (CL-138). */
export function keyValues(rows: readonly (readonly [string, Cell])[]): string {
  return columns(rows, ' = ', '<none>');
}

/** Formats a single row. Columns have at least the given widths, and a longer cell shifts the rest. */
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

/** Formats a row. A cell with several lines gives a row of several lines, and the columns stay aligned (CL-139). */
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

/** Escapes control characters, so that another user's text cannot drive the terminal (CL-139). */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROL, (found) => `\\x${found.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Returns the number of columns of a text on a terminal. */
export function widthOf(text: string): number {
  const plain = stripVTControlCharacters(text).replaceAll(COMBINING, '');
  return Array.from(plain).length + (plain.match(WIDE)?.length ?? 0);
}
