import type { Span } from './source-text.js';
import type { Expression } from './syntax-tree.js';

/** The expression parser, for the code that parses one part of an expression. */
export interface ExpressionReader {
  /** @throws JobspecError */
  expression(): Expression;
  /** Consumes the closing symbol. @throws JobspecError that names the opened construct */
  close(symbol: string, open: Span, what: string): void;
}
