import type { ExpressionReader } from './expression-reader.js';
import { Decimal, NumberOutOfRange } from '../evaluation/decimal.js';
import type { JobspecError } from './diagnostic.js';
import { ForParser } from './for-parser.js';
import type { Span } from './source-text.js';
import type { BinaryOperator, Expression, Label, ObjectItem, Step } from './syntax-tree.js';
import { type QuotedText, TemplateParser } from './template-parser.js';
import type { Token, TokenReader } from './token-reader.js';

/** Precedence of operators (JS-30). */
const PRECEDENCE: ReadonlyMap<string, number> = new Map(
  [['||'], ['&&'], ['==', '!='], ['<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']].flatMap((operators, level) =>
    operators.map((operator) => [operator, level] as const),
  ),
);

const isBinary = (text: string): text is BinaryOperator => PRECEDENCE.has(text);

const DIGITS = /\d+/uy;

/**
 * Parses expressions by recursive descent (JS-30ff). Every method leaves the cursor after the text that it has parsed.
 */
export class ExpressionParser implements ExpressionReader {
  private readonly templates: TemplateParser;
  private readonly fors: ForParser;

  constructor(
    private readonly tokens: TokenReader,
    strings: QuotedText = 'template',
  ) {
    this.fors = new ForParser(tokens, this);
    this.templates = new TemplateParser(tokens, this, this.fors, strings);
  }

  /** Parses a text that is a single expression. */
  whole(): Expression {
    return this.tokens.ignoringNewlines(true, () => {
      const value = this.expression();
      const rest = this.tokens.peek();
      if (rest.kind !== 'end')
        throw this.tokens.failure(
          rest,
          'Extra characters after expression',
          'An expression was successfully parsed, but extra characters were found after it.',
        );
      return value;
    });
  }

  /** Parses a quoted label (JS-13). */
  label(): Label {
    return this.templates.label();
  }

  expression(): Expression {
    return this.tokens.nested(() => this.conditional());
  }

  private conditional(): Expression {
    const condition = this.binary(0);
    if (!this.tokens.takes('?')) return condition;
    const whenTrue = this.expression();
    if (!this.tokens.takes(':'))
      throw this.tokens.failure(
        this.tokens.peek(),
        'Missing false expression in conditional',
        'The conditional operator (...?...:...) requires a false expression, delimited by a colon.',
      );
    const whenFalse = this.expression();
    return { type: 'conditional', condition, whenTrue, whenFalse, ...this.from(condition) };
  }

  /** Parses by precedence climbing: operators that bind at least as tightly as `level`. */
  private binary(level: number): Expression {
    let left = this.unary();
    for (let operators = 1; ; operators++) {
      const { kind, text: operator } = this.tokens.peek();
      const precedence = kind === 'symbol' ? (PRECEDENCE.get(operator) ?? -1) : -1;
      if (precedence < level || !isBinary(operator)) return left;
      this.tokens.checkChain(operators);
      this.tokens.next();
      const right = this.binary(precedence + 1);
      left = { type: 'binary', operator, left, right, ...this.from(left) };
    }
  }

  private unary(): Expression {
    const token = this.tokens.peek();
    const { kind, text: operator } = token;
    if (kind !== 'symbol' || (operator !== '-' && operator !== '!')) return this.postfix(this.primary());
    this.tokens.next();
    const operand = this.tokens.nested(() => this.unary());
    return { type: 'unary', operator, operand, ...this.from({ span: token }) };
  }

  private postfix(start: Expression): Expression {
    let value = start;
    for (let steps = 1; ; steps++) {
      this.tokens.checkChain(steps);
      if (this.tokens.isSymbol('.')) value = this.afterDot(value);
      else if (this.tokens.isSymbol('[')) value = this.tokens.nested(() => this.afterBracket(value));
      else return value;
    }
  }

  private afterDot(of: Expression): Expression {
    const dot = this.tokens.next();
    if (this.tokens.takes('*')) {
      const steps: Step[] = [];
      while (this.tokens.isSymbol('.')) {
        steps.push(this.step(this.tokens.next().start));
        this.tokens.checkChain(steps.length);
      }
      return { type: 'splat', of, steps, ...this.from(of) };
    }
    return this.stepOf(of, this.step(dot.start));
  }

  /** Parses the name or number after a dot. */
  private step(start: number): Step {
    const { tokens } = this;
    const digits = tokens.match(DIGITS);
    if (digits !== undefined)
      return {
        kind: 'index',
        key: this.number({ text: digits, start, end: tokens.position }),
        span: { start, end: tokens.position },
      };
    const token = tokens.next();
    if (token.kind === 'identifier') return { kind: 'attribute', name: token.text, span: { start, end: token.end } };
    throw tokens.failure(token, 'Invalid attribute name', 'An attribute name is required after a dot.');
  }

  private afterBracket(of: Expression): Expression {
    const { tokens } = this;
    const open = tokens.next();
    return tokens.ignoringNewlines(true, () => {
      if (tokens.takes('*')) {
        this.close(']', open, 'splat operator');
        return this.fullSplat(of);
      }
      const key = this.expression();
      this.close(']', open, 'index');
      const constant = key.type === 'literal' ? key.value : undefined;
      if (typeof constant === 'string' || constant instanceof Decimal)
        return this.stepOf(of, { kind: 'index', key: constant, span: { start: open.start, end: tokens.position } });
      return { type: 'index', of, key, ...this.from(of) };
    });
  }

  /** Parses `xs[*]` and the steps after it, which apply to every element. */
  private fullSplat(of: Expression): Expression {
    const { tokens } = this;
    const steps: (Step | Expression)[] = [];
    for (;;) {
      tokens.checkChain(steps.length);
      if (tokens.isSymbol('.')) {
        steps.push(this.step(tokens.next().start));
      } else if (tokens.isSymbol('[')) {
        const open = tokens.next();
        steps.push(tokens.ignoringNewlines(true, () => this.expression()));
        this.close(']', open, 'index');
      } else {
        return { type: 'splat', of, steps, ...this.from(of) };
      }
    }
  }

  private stepOf(of: Expression, step: Step): Expression {
    if (of.type === 'reference') return { ...of, steps: [...of.steps, step], ...this.from(of) };
    return { type: 'step', of, step, ...this.from(of) };
  }

  private primary(): Expression {
    const { tokens } = this;
    const token = tokens.peek();
    switch (token.kind) {
      case 'quote':
        return this.templates.quoted();
      case 'heredoc':
        return this.templates.heredoc();
      case 'number':
        tokens.next();
        return { type: 'literal', value: this.number(token), ...this.from({ span: token }) };
      case 'identifier':
        return this.named(tokens.next());
      case 'symbol':
        if (token.text === '(') return this.parenthesised();
        if (token.text === '[') return this.tuple();
        if (token.text === '{') return this.object();
        break;
      case 'newline':
      case 'end':
      default:
        break;
    }
    throw tokens.failure(
      token,
      'Invalid expression',
      'Expected the start of an expression, but found an invalid expression token.',
    );
  }

  /** @throws JobspecError if the number has too many digits */
  private number(token: Pick<Token, 'text' | 'start' | 'end'>): Decimal {
    try {
      return Decimal.parse(token.text) ?? Decimal.ZERO;
    } catch (error) {
      if (error instanceof NumberOutOfRange) throw this.tokens.failure(token, 'Invalid number', `${error.message}.`);
      throw error;
    }
  }

  private named(token: Token): Expression {
    const at = { source: this.tokens.source, span: spanOf(token) };
    if (token.text === 'true' || token.text === 'false')
      return { type: 'literal', value: token.text === 'true', ...at };
    if (token.text === 'null') return { type: 'literal', value: null, ...at };
    if (this.tokens.isSymbol('(')) return this.call(token);
    return { type: 'reference', root: token.text, steps: [], ...at };
  }

  private call(name: Token): Expression {
    const { tokens } = this;
    const open = tokens.next();
    return tokens.ignoringNewlines(true, () => {
      const args: Expression[] = [];
      let spreads = false;
      while (!tokens.isSymbol(')')) {
        args.push(this.expression());
        spreads = tokens.takes('...');
        if (spreads || !tokens.takes(',')) break;
      }
      this.close(')', open, 'function call');
      return { type: 'call', name: name.text, nameSpan: spanOf(name), args, spreads, ...this.from({ span: name }) };
    });
  }

  private parenthesised(): Expression {
    const open = this.tokens.next();
    return this.tokens.ignoringNewlines(true, () => {
      const inner = this.expression();
      this.close(')', open, 'parentheses');
      return { type: 'parenthesised', inner, ...this.from({ span: open }) };
    });
  }

  private tuple(): Expression {
    const { tokens } = this;
    const open = tokens.next();
    return tokens.ignoringNewlines(true, () => {
      if (this.fors.begins()) return this.fors.expression(open, ']');
      const items: Expression[] = [];
      while (!tokens.isSymbol(']')) {
        items.push(this.expression());
        if (tokens.takes(',') || tokens.isSymbol(']')) continue;
        throw this.endOr(open, 'Missing item separator', 'Expected a comma to mark the beginning of the next item.');
      }
      tokens.next();
      return { type: 'tuple', items, ...this.from({ span: open }) };
    });
  }

  private object(): Expression {
    const { tokens } = this;
    const open = tokens.next();
    if (tokens.ignoringNewlines(true, () => this.fors.begins()))
      return tokens.ignoringNewlines(true, () => this.fors.expression(open, '}'));
    return tokens.ignoringNewlines(false, () => {
      const items: ObjectItem[] = [];
      for (;;) {
        while (tokens.peek().kind === 'newline') tokens.next();
        if (tokens.takes('}')) break;
        items.push(this.objectItem(open));
        if (tokens.takes(',') || tokens.isSymbol('}') || tokens.peek().kind === 'newline') continue;
        throw this.endOr(
          open,
          'Missing attribute separator',
          'Expected a newline or comma to mark the beginning of the next attribute.',
        );
      }
      return { type: 'object', items, ...this.from({ span: open }) };
    });
  }

  private objectItem(open: Token): ObjectItem {
    const { tokens } = this;
    const key = this.objectKey(this.expression());
    if (!tokens.takes('=') && !tokens.takes(':'))
      throw this.endOr(
        open,
        'Missing attribute value',
        'Expected an attribute value, introduced by an equals sign ("=").',
      );
    return { key, value: this.expression() };
  }

  /** Converts a bare identifier to a literal key, and refuses a key with unquoted periods (JS-32). */
  private objectKey(key: Expression): Expression {
    if (key.type !== 'reference') return key;
    if (key.steps.length === 0) return { type: 'literal', value: key.root, source: key.source, span: key.span };
    throw this.tokens.failure(
      key.span,
      'Ambiguous attribute key',
      "If this expression is intended to be a reference, wrap it in parentheses. If it's instead intended as a literal name containing periods, wrap it in quotes to create a string literal.",
    );
  }

  /** Consumes the bracket that closes the one at `open`. @throws JobspecError */
  close(symbol: string, open: Span, what: string): void {
    if (this.tokens.takes(symbol)) return;
    throw this.endOr(open, `Missing closing bracket of the ${what}`, `Expected "${symbol}" here.`);
  }

  /** Returns the error at the next token, or that of the unclosed bracket if the text has ended. */
  private endOr(open: Span, summary: string, detail: string): JobspecError {
    const token = this.tokens.peek();
    if (token.kind !== 'end') return this.tokens.failure(token, summary, detail);
    return this.tokens.failure(
      open,
      'Unterminated expression',
      'There is no corresponding closing bracket before the end of the file. This may be caused by incorrect bracket nesting elsewhere in this file.',
    );
  }

  /** Returns the place of an expression that started there and ends at the cursor. */
  private from({ span }: { span: Span }): { source: TokenReader['source']; span: Span } {
    return { source: this.tokens.source, span: { start: span.start, end: this.tokens.position } };
  }
}

const spanOf = ({ start, end }: Span): Span => ({ start, end });
