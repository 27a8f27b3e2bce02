import { LiteralError, numberValue, runeValue, unquote } from './go-literals.js';
import { placeAt, TemplateSyntaxError } from './template-error.js';
import type { Delimiters, Token, TokenKind } from './tokens.js';

const SPACE = /[ \t\r\n]+/y;
const NAME = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
const NUMBER = /[+-]?(?:\d|\.\d)[\p{L}\p{Nd}_.]*(?:(?<=[eE])[+-]\d[\d_]*)?/uy;
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"/y;
const RAW = /`([^`]*)`/y;
const RUNE = /'((?:[^'\\\n]|\\[^\n])*)'/y;
const MARK = /:=|[.|(),=]/y;

/**
 * Cuts a template's text into tokens: text between actions, and inside an action what the parser reads. Trim markers and
 * comments are gone afterwards. One pass; cost O(length).
 * @throws TemplateSyntaxError
 */
export class Lexer {
  private readonly tokens: Token[] = [];
  private at = 0;

  constructor(
    private readonly template: string,
    private readonly source: string,
    private readonly delimiters: Delimiters,
  ) {}

  /** Ends with one token of kind `end`. */
  scan(): readonly Token[] {
    let isTrimmed = false;
    while (this.at < this.source.length) {
      const open = this.source.indexOf(this.delimiters.left, this.at);
      const end = open < 0 ? this.source.length : open;
      const bodyAt = end + this.delimiters.left.length;
      const trimsBefore = open >= 0 && /^-[ \t\r\n]/.test(this.source.slice(bodyAt, bodyAt + 2));
      this.text(end, isTrimmed, trimsBefore);
      if (open < 0) break;
      this.at = bodyAt + (trimsBefore ? 1 : 0);
      isTrimmed = this.comment(open) ?? this.action(open, bodyAt);
    }
    this.add('end', '', this.source.length, this.source.length);
    return this.tokens;
  }

  private text(end: number, trimStart: boolean, trimEnd: boolean): void {
    let text = this.source.slice(this.at, end);
    if (trimStart) text = text.replace(/^[ \t\r\n]+/, '');
    if (trimEnd) text = withoutSpaceAtEnd(text);
    if (text !== '') this.add('text', text, this.at, end);
  }

  /** Whether the text after it is trimmed; null: it is no comment. */
  private comment(open: number): boolean | null {
    const { right } = this.delimiters;
    const space = this.source[this.at - 1] === '-' ? (this.match(SPACE)?.[0].length ?? 0) : 0;
    if (!this.source.startsWith('/*', this.at)) {
      this.at -= space;
      return null;
    }
    const close = this.source.indexOf('*/', this.at + 2);
    if (close < 0) throw this.error(open, 'unclosed comment');
    this.at = close + 2;
    const trims = this.trimsHere();
    if (trims) this.match(SPACE);
    if (trims) this.at += 1;
    if (!this.source.startsWith(right, this.at)) throw this.error(open, 'comment ends before closing delimiter');
    this.at += right.length;
    return trims;
  }

  /** Up to its closing delimiter; answers whether the text after it is trimmed. */
  private action(open: number, bodyAt: number): boolean {
    this.add('open', this.delimiters.left, open, bodyAt);
    for (;;) {
      const trims = this.trimsHere();
      if (trims || this.source.startsWith(this.delimiters.right, this.at)) {
        const start = this.at;
        if (trims) this.match(SPACE);
        this.at += (trims ? 1 : 0) + this.delimiters.right.length;
        this.add('close', this.delimiters.right, start, this.at);
        return trims;
      }
      if (this.at >= this.source.length) throw this.error(open, 'unclosed action');
      this.token();
    }
  }

  /** ` -}}` begins here. */
  private trimsHere(): boolean {
    SPACE.lastIndex = this.at;
    const space = SPACE.exec(this.source);
    return space !== null && this.source.startsWith(`-${this.delimiters.right}`, this.at + space[0].length);
  }

  private token(): void {
    const start = this.at;
    const add = (kind: TokenKind, value: string | number | bigint): void => this.add(kind, value, start, this.at);
    const character = this.source[start] ?? '';
    if (this.match(SPACE)) return add('space', ' ');
    if (character === '"' || character === "'" || character === '`') return this.quoted(character, add);
    const number = this.match(NUMBER)?.[0];
    if (number !== undefined)
      return add(
        'number',
        this.literal(start, () => numberValue(number)),
      );
    if (character === '$' || character === '.') {
      this.at++;
      const name = this.match(NAME)?.[0];
      if (character === '.' && name === undefined) return add('mark', '.');
      this.endsHere();
      return character === '$' ? add('variable', `$${name ?? ''}`) : add('field', name ?? '');
    }
    const word = this.match(NAME)?.[0];
    if (word !== undefined) {
      this.endsHere();
      return add('word', word);
    }
    const mark = this.match(MARK)?.[0];
    if (mark === undefined) throw this.error(start, `unexpected character "${character}" in action`);
    add('mark', mark);
  }

  private quoted(quote: string, add: (kind: TokenKind, value: string | number) => void): void {
    const start = this.at;
    const body = this.match(quote === '"' ? QUOTED : quote === '`' ? RAW : RUNE)?.[1];
    if (body === undefined) {
      const what = { '"': 'quoted string', '`': 'raw quoted string', "'": 'character constant' }[quote];
      throw this.error(start, `unterminated ${what ?? 'string'}`);
    }
    if (quote === "'")
      return add(
        'number',
        this.literal(start, () => runeValue(body)),
      );
    add('string', quote === '`' ? body.replaceAll('\r', '') : this.literal(start, () => unquote(body)));
  }

  /** A name must not run into what is no name: `.A!b`. */
  private endsHere(): void {
    const next = this.source[this.at];
    if (next === undefined || /[ \t\r\n.,|:()=]/.test(next)) return;
    if (!this.source.startsWith(this.delimiters.right, this.at)) throw this.error(this.at, `bad character "${next}"`);
  }

  private literal<T>(at: number, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof LiteralError) throw this.error(at, error.message);
      throw error;
    }
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.source);
    if (match) this.at += match[0].length;
    return match;
  }

  private add(kind: TokenKind, value: string | number | bigint, start: number, end: number): void {
    this.tokens.push({ kind, value, start, end });
  }

  private error(offset: number, reason: string): TemplateSyntaxError {
    return new TemplateSyntaxError(placeAt(this.template, this.source, offset), reason);
  }
}

/** A pattern for this would look at every run of spaces in the text again and again. */
function withoutSpaceAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text[end - 1] ?? 'x')) end--;
  return text.slice(0, end);
}
