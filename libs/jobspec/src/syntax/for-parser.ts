import type { ExpressionReader } from './expression-reader.js';
import type { JobspecError } from './diagnostic.js';
import type { Expression, ForExpression } from './syntax-tree.js';
import type { Token, TokenReader } from './token-reader.js';

/** The collection of a `for`, and its names for the parts of each element. */
export interface ForClause {
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
}

/** Parses `for`, as an expression in brackets and as a directive of templates (JS-23, JS-37). */
export class ForParser {
  constructor(
    private readonly tokens: TokenReader,
    private readonly expressions: ExpressionReader,
  ) {}

  begins(): boolean {
    return this.tokens.lookingAhead(
      () => this.tokens.isWord('for') && this.tokens.next() && this.tokens.peek().kind === 'identifier',
    );
  }

  /** Parses a `for` expression that produces a tuple or an object (JS-37). */
  expression(open: Token, closing: ']' | '}'): ForExpression {
    const { tokens } = this;
    tokens.next();
    const { keyName, valueName, collection } = this.clause();
    if (!tokens.takes(':')) throw this.bad('A colon is required after the collection expression.');
    const first = this.expressions.expression();
    let value: Expression | undefined;
    if (closing === '}') {
      if (!tokens.takes('=>'))
        throw this.bad('An "=>" is required between the key and the value of an object "for" expression.');
      value = this.expressions.expression();
    }
    const groups = value !== undefined && tokens.takes('...');
    const filters = tokens.isWord('if') && tokens.next() !== undefined;
    const condition = filters ? this.expressions.expression() : undefined;
    this.expressions.close(closing, open, "'for' expression");
    return {
      type: 'for',
      keyName,
      valueName,
      collection,
      key: value === undefined ? undefined : first,
      value: value ?? first,
      condition,
      groups,
      source: tokens.source,
      span: { start: open.start, end: tokens.position },
    };
  }

  /** Parses `k, v in xs` of a `for` expression or directive. */
  clause(): ForClause {
    const { tokens } = this;
    const first = this.name();
    const second = tokens.takes(',') ? this.name() : undefined;
    if (!tokens.isWord('in')) throw this.bad('The keyword "in" is required after the names.');
    tokens.next();
    const collection = this.expressions.expression();
    return { keyName: second === undefined ? undefined : first, valueName: second ?? first, collection };
  }

  private name(): string {
    const token = this.tokens.next();
    if (token.kind !== 'identifier') throw this.bad('A name is required after "for".', token);
    return token.text;
  }

  private bad(detail: string, at: Token = this.tokens.peek()): JobspecError {
    return this.tokens.failure(at, "Invalid 'for' expression", detail);
  }
}
