import { charactersOf } from '../characters.js';

/** A part of a source in UTF-16 offsets. The end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Line and column, from 1. Columns count characters as users do (JS-190). */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One source file: its name in messages, its text without a byte-order mark (JS-10), and its lines. */
export class SourceText {
  readonly text: string;
  private starts: number[] | undefined;

  constructor(
    readonly name: string,
    text: string,
  ) {
    this.text = text.startsWith('\uFEFF') ? text.slice(1) : text;
  }

  positionOf(offset: number): Position {
    const starts = this.lineStarts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: charactersIn(this.text.slice(starts[low] ?? 0, offset)) + 1 };
  }

  /** Formats a range: `job.hcl:2,2-9`, or `job.hcl:2,10-3,1` over several lines (JS-190). */
  rangeOf(span: Span): string {
    const from = this.positionOf(span.start);
    const to = this.positionOf(span.end);
    const end = from.line === to.line ? `${to.column}` : `${to.line},${to.column}`;
    return `${this.name}:${from.line},${from.column}-${end}`;
  }

  /** Returns the first line of the span, with carets below the part of the span in that line. */
  excerptOf(span: Span): string {
    const { line, column } = this.positionOf(span.start);
    const start = this.lineStarts()[line - 1] ?? 0;
    const shown = this.text.slice(start).split(/\r?\n/, 1)[0] ?? '';
    const width = Math.max(1, charactersIn(shown.slice(span.start - start, span.end - start)));
    const gutter = String(line);
    // Tabs stay tabs, so the caret is at the right place for any width of a tab.
    const indent = shown.slice(0, span.start - start).replaceAll(/[^\t]/gu, ' ');
    const padding = indent.includes('\t') ? indent : ' '.repeat(column - 1);
    return `  ${gutter} | ${shown}\n  ${' '.repeat(gutter.length)} | ${padding}${'^'.repeat(width)}`;
  }

  private lineStarts(): readonly number[] {
    return (this.starts ??= lineStartsOf(this.text));
  }
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function charactersIn(text: string): number {
  // Printable ASCII and tabs are one character each.
  if (/^[\t\x20-\x7e]*$/.test(text)) return text.length;
  return charactersOf(text).length;
}
