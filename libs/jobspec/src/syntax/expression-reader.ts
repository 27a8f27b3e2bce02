import type { Span } from './source-text.js';
import type { Expression } from './syntax-tree.js';

/** What reading a part of an expression asks of reading them all. */
export interface ExpressionReader {
  /** @throws JobspecError */
  expression(): Expression;
  /** Takes the closing symbol. @throws JobspecError that names what was opened */
  close(symbol: string, open: Span, what: string): void;
}
