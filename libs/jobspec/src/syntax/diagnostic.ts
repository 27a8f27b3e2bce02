import type { SourceText, Span } from './source-text.js';

/** One error with its position. Without a position it concerns the whole file (JS-190). */
export interface Diagnostic {
  readonly summary: string;
  readonly detail: string;
  readonly at?: { readonly source: SourceText; readonly span: Span } | undefined;
  /** Replaces the position for a value outside of files: `<value for var.x from env>:0,0-0`. */
  readonly origin?: string;
}

/** A job file is invalid. */
export class JobspecError extends Error {
  override readonly name = 'JobspecError';

  constructor(
    readonly diagnostics: readonly Diagnostic[],
    /** Whether the message contains only the first diagnostic (JS-191). */
    private readonly brief = false,
    /** Start of the message: `unable to parse var content: `. */
    private readonly prefix = '',
  ) {
    super();
    this.message = this.text(formatDiagnostic);
  }

  /** The message with the offending line and a caret under each diagnostic. */
  get illustrated(): string {
    return this.text(illustrateDiagnostic);
  }

  within(prefix: string): JobspecError {
    return new JobspecError(this.diagnostics, this.brief, prefix);
  }

  private text(format: (one: Diagnostic) => string): string {
    const shown = this.brief ? this.diagnostics.slice(0, 1) : this.diagnostics;
    const others = this.diagnostics.length - shown.length;
    const more = others > 0 ? `, and ${others} other diagnostic(s)` : '';
    return `${this.prefix}${shown.map(format).join('\n')}${more}`;
  }
}

/** Formats a diagnostic as place, summary and detail (JS-190). */
export function formatDiagnostic({ summary, detail, at, origin }: Diagnostic): string {
  const place = at ? at.source.rangeOf(at.span) : (origin ?? '<nil>');
  return `${place}: ${summary}; ${detail}`;
}

function illustrateDiagnostic(one: Diagnostic): string {
  const line = formatDiagnostic(one);
  return one.at ? `${line}\n${one.at.source.excerptOf(one.at.span)}` : line;
}
