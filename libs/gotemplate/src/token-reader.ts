import { placeAt, TemplateLimitError, TemplateSyntaxError } from './template-error.js';
import type { Token, TokenKind } from './tokens.js';

/** Reads tokens one after the other, and says where something is wrong. */
export class TokenReader {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly template: string,
    private readonly source: string,
    private readonly tokens: readonly Token[],
    private readonly maxDepth: number,
  ) {}

  /** The token that comes; after the last one always `end`. */
  get next(): Token {
    const token = this.tokens[Math.min(this.at, this.tokens.length - 1)];
    if (!token) throw new Error('a lexer answers at least one token');
    return token;
  }

  get offset(): number {
    return this.next.start;
  }

  /** Where the token before ended. */
  get endOfLast(): number {
    return this.tokens[this.at - 1]?.end ?? 0;
  }

  takeToken(): Token {
    const token = this.next;
    this.at++;
    return token;
  }

  is(kind: TokenKind, value?: string): boolean {
    return this.next.kind === kind && (value === undefined || this.next.value === value);
  }

  takeIf(kind: TokenKind, value?: string): boolean {
    const matches = this.is(kind, value);
    if (matches) this.at++;
    return matches;
  }

  skipSpace(): void {
    this.takeIf('space');
  }

  /** @throws TemplateSyntaxError */
  expect(kind: TokenKind, context: string, value?: string): Token {
    if (!this.is(kind, value)) throw this.unexpected(context);
    return this.takeToken();
  }

  /** The word with which the next action begins; null if none comes. */
  keywordAhead(): string | null {
    if (!this.is('open')) return null;
    const ahead = this.tokens.slice(this.at + 1, this.at + 3).find((token) => token.kind !== 'space');
    return ahead?.kind === 'word' ? String(ahead.value) : null;
  }

  /** A variable comes, and is declared or assigned: `$x :=`, `$i, $x =`. */
  declares(): boolean {
    const ahead = this.tokens.slice(this.at + 1, this.at + 3).find((token) => token.kind !== 'space');
    return ahead?.kind === 'mark' && (ahead.value === ':=' || ahead.value === '=' || ahead.value === ',');
  }

  /** @throws TemplateLimitError when `read` nests too deep */
  nested<T>(read: () => T): T {
    if (this.depth >= this.maxDepth) {
      const place = placeAt(this.template, this.source, this.offset);
      throw new TemplateLimitError(place, `nested more than ${this.maxDepth} deep`);
    }
    this.depth++;
    const result = read();
    this.depth--;
    return result;
  }

  unexpected(context: string): TemplateSyntaxError {
    const { kind, start, end } = this.next;
    if (kind === 'end') return this.error('unexpected end of template', start);
    return this.error(`unexpected ${JSON.stringify(this.source.slice(start, end))} in ${context}`, start);
  }

  error(reason: string, offset = this.offset): TemplateSyntaxError {
    return new TemplateSyntaxError(placeAt(this.template, this.source, offset), reason);
  }
}
