import type { Binder, Comparison, Expression, Operator, Selector } from './expression.js';
import { FilterSyntaxError } from './filter-error.js';
import { placeOf, type Token, tokensOf } from './lexer.js';
import { compilePattern } from './regular-expression.js';

/** Deepest nesting of parentheses and quantifiers. Deeper recursion could exhaust the stack. */
export const MAX_NESTING = 200;

/**
 * Parses an expression (API-68, API-69). `or` binds loosest, then `and`, then `not`. Each token is examined a bounded
 * number of times, so parsing an expression of allowed length stays far below the 2,000,000 steps of API-71.
 * @throws FilterSyntaxError
 */
export function parseExpression(text: string): Expression {
  return new Parser(text).whole();
}

class Parser {
  private readonly tokens: readonly Token[];
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {
    this.tokens = tokensOf(text);
  }

  whole(): Expression {
    const expression = this.or();
    if (this.token.kind !== 'end') this.fail('"and", "or" or the end');
    return expression;
  }

  private or(): Expression {
    return this.chain('or', () => this.chain('and', () => this.not()));
  }

  private chain(word: 'or' | 'and', term: () => Expression): Expression {
    const first = term();
    const terms = [first];
    while (this.takeWord(word)) terms.push(term());
    return terms.length === 1 ? first : { kind: word, terms };
  }

  private not(): Expression {
    let negated = false;
    while (this.isWord('not') && !this.isOperatorAfter()) {
      this.at++;
      negated = !negated;
    }
    const term = this.primary();
    return negated ? { kind: 'not', term } : term;
  }

  private primary(): Expression {
    if (this.takePunctuation('(')) {
      const inside = this.nested(() => this.or());
      if (!this.takePunctuation(')')) this.fail('")"');
      return inside;
    }
    if ((this.isWord('any') || this.isWord('all')) && !this.isOperatorAfter()) return this.quantifier();
    return this.comparison();
  }

  private nested(inside: () => Expression): Expression {
    if (++this.depth > MAX_NESTING) throw new FilterSyntaxError(`expressions nested deeper than ${MAX_NESTING} levels`);
    const expression = inside();
    this.depth--;
    return expression;
  }

  private quantifier(): Expression {
    const kind = this.token.text === 'any' ? 'any' : 'all';
    this.at++;
    const of = this.selector();
    if (!this.takeWord('as')) this.fail('"as"');
    const as = this.binder();
    if (!this.takePunctuation('{')) this.fail('"{"');
    const term = this.nested(() => this.or());
    if (!this.takePunctuation('}')) this.fail('"}"');
    return { kind, of, as, term };
  }

  private binder(): Binder {
    const first = this.name();
    if (!this.takePunctuation(',')) return { kind: 'single', name: first };
    return { kind: 'pair', first, second: this.name() };
  }

  private name(): string {
    const { token } = this;
    if (token.kind !== 'path' || token.parts.length > 1) return this.fail('a name');
    this.at++;
    return token.text;
  }

  private comparison(): Expression {
    const left = this.token;
    if (left.kind === 'punctuation' || left.kind === 'end') this.fail('a selector or a value');
    this.at++;
    if (this.takePunctuation('==')) return this.against(left, '==');
    if (this.takePunctuation('!=')) return this.against(left, '!=');
    if (this.takeWord('is')) return compared(this.selectorOf(left), this.state());
    const not = this.takeWord('not');
    if (this.takeWord('in')) return compared(this.selector(), not ? 'not in' : 'in', left.text);
    if (this.takeWord('contains')) return this.against(left, not ? 'not in' : 'in');
    if (this.takeWord('matches')) return this.against(left, not ? 'not matches' : 'matches');
    return this.fail('an operator: ==, !=, in, not in, contains, is, matches');
  }

  private state(): Operator {
    const not = this.takeWord('not');
    if (this.takeWord('empty')) return not ? 'is not empty' : 'is empty';
    if (this.takeWord('nil')) return not ? 'is not nil' : 'is nil';
    return this.fail('"empty" or "nil"');
  }

  private against(left: Token, operator: Operator): Comparison {
    const selector = this.selectorOf(left);
    const { token } = this;
    if (token.kind === 'punctuation' || token.kind === 'end') this.fail('a value');
    this.at++;
    return compared(selector, operator, token.text);
  }

  private selector(): Selector {
    const { token } = this;
    this.at++;
    return this.selectorOf(token);
  }

  private selectorOf(token: Token): Selector {
    if (token.kind === 'path') return { parts: token.parts, text: token.text };
    if (token.kind === 'string' && token.pointer) return { parts: token.pointer, text: token.text };
    return this.fail('a selector', token);
  }

  /** Whether the current word is a selector: an operator follows it. */
  private isOperatorAfter(): boolean {
    const next = this.tokens[this.at + 1];
    if (next?.kind === 'punctuation') return next.text === '==' || next.text === '!=';
    return next?.kind === 'path' && ['is', 'contains', 'matches'].includes(next.text);
  }

  private get token(): Token {
    // `at` never passes the last token, which is `end`.
    return this.tokens[Math.min(this.at, this.tokens.length - 1)] as Token;
  }

  private isWord(word: string): boolean {
    return this.token.kind === 'path' && this.token.text === word;
  }

  private takeWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.at++;
    return true;
  }

  private takePunctuation(text: string): boolean {
    if (this.token.kind !== 'punctuation' || this.token.text !== text) return false;
    this.at++;
    return true;
  }

  private fail(expected: string, at: Token = this.token): never {
    const found = at.kind === 'end' ? 'the end' : JSON.stringify(at.text);
    throw new FilterSyntaxError(`${placeOf(this.text, at.at)}: no match found, expected ${expected}, found ${found}`);
  }
}

function compared(selector: Selector, operator: Operator, value = ''): Comparison {
  const matching = operator === 'matches' || operator === 'not matches';
  return { kind: 'comparison', selector, operator, value, pattern: matching ? compilePattern(value) : undefined };
}
