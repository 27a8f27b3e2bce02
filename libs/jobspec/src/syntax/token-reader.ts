import { MAX_CHAIN, MAX_NESTING } from '../limits.js';
import { type Diagnostic, JobspecError } from './diagnostic.js';
import type { SourceText, Span } from './source-text.js';

/** `quote` and `heredoc` only open a template. The template parser parses the text after them. */
export type TokenKind = 'identifier' | 'number' | 'quote' | 'heredoc' | 'symbol' | 'newline' | 'end';

export interface Token extends Span {
  readonly kind: TokenKind;
  readonly text: string;
}

const SPACE = /(?:[ \t]|\r(?=\n)|(?:#|\/\/)[^\n]*|\/\*[^]*?\*\/)+/uy;
const IDENTIFIER = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}-]*/uy;
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/uy;
const HEREDOC = /<<-?(?=[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}-]*\r?\n)/uy;
const SYMBOL = /\.\.\.|=>|==|!=|<=|>=|&&|\|\||[{}[\]()=<>+\-*/%!?:,.~]/uy;

const HINTS: Readonly<Record<string, string>> = {
  "'": 'Single quotes are not valid. Use double quotes (") to enclose strings.',
  '`': 'The "`" character is not valid. To create a multi-line string, use the "heredoc" syntax, like "<<EOT".',
  ';': 'The ";" character is not valid. Use newlines to separate arguments and blocks, and commas to separate items in collection values.',
  '&': 'Bitwise operators are not supported. Did you mean boolean AND ("&&")?',
  '|': 'Bitwise operators are not supported. Did you mean boolean OR ("||")?',
};

/**
 * The cursor that the parsers of bodies, expressions and templates share. Its one token of lookahead is created on
 * request, because the meaning of a character depends on the parser. Inside brackets, newlines mean nothing (JS-12),
 * which `ignoringNewlines` switches. Inside a template only characters are read, between `position` and `limit`. Cost:
 * a small constant per character.
 */
export class TokenReader {
  position = 0;
  private end: number;
  private skipsNewlines = false;
  private ahead: Token | undefined;
  private nesting = 0;

  constructor(readonly source: SourceText) {
    this.end = source.text.length;
  }

  /** The end of the file, or of the heredoc that is being parsed. */
  get limit(): number {
    return this.end;
  }

  peek(): Token {
    return (this.ahead ??= this.readToken());
  }

  next(): Token {
    const token = this.peek();
    this.seek(token.end);
    return token;
  }

  /** Moves the cursor. */
  seek(position: number): void {
    this.position = position;
    this.ahead = undefined;
  }

  isSymbol(text: string): boolean {
    const token = this.peek();
    return token.kind === 'symbol' && token.text === text;
  }

  isWord(text: string): boolean {
    const token = this.peek();
    return token.kind === 'identifier' && token.text === text;
  }

  /** Consumes the symbol if it is the next token. */
  takes(text: string): boolean {
    if (!this.isSymbol(text)) return false;
    this.next();
    return true;
  }

  /** Returns the result of `look` and restores the cursor. */
  lookingAhead<T>(look: () => T): T {
    const { position, ahead } = this;
    try {
      return look();
    } finally {
      this.position = position;
      this.ahead = ahead;
    }
  }

  ignoringNewlines<T>(ignore: boolean, parse: () => T): T {
    const before = this.skipsNewlines;
    this.switchNewlines(ignore);
    try {
      return parse();
    } finally {
      this.switchNewlines(before);
    }
  }

  /** Parses a part of the text as if it were all of it. */
  upTo<T>(limit: number, parse: () => T): T {
    const before = this.end;
    this.end = limit;
    try {
      return parse();
    } finally {
      this.end = before;
      this.ahead = undefined;
    }
  }

  /** @throws JobspecError if blocks or expressions are nested too deeply */
  nested<T>(parse: () => T): T {
    if (this.nesting >= MAX_NESTING)
      throw this.failure(this.peek(), 'Nesting too deep', `Blocks and expressions may be nested ${MAX_NESTING} deep.`);
    this.nesting++;
    try {
      return parse();
    } finally {
      this.nesting--;
    }
  }

  /** @param length of the chain of operators or steps at the cursor @throws JobspecError if it is too long */
  checkChain(length: number): void {
    if (length <= MAX_CHAIN) return;
    throw this.failure(
      this.peek(),
      'Expression too long',
      `At most ${MAX_CHAIN} operators or steps may follow each other.`,
    );
  }

  failure(span: Span, summary: string, detail: string): JobspecError {
    const diagnostic: Diagnostic = { summary, detail, at: { source: this.source, span } };
    return new JobspecError([diagnostic], true);
  }

  /** Consumes the pattern's match at the cursor. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    // `exec` would create an array for every match.
    if (!pattern.test(this.source.text) || pattern.lastIndex > this.end) return undefined;
    const found = this.source.text.slice(this.position, pattern.lastIndex);
    this.seek(pattern.lastIndex);
    return found;
  }

  private switchNewlines(ignore: boolean): void {
    this.skipsNewlines = ignore;
    this.ahead = undefined;
  }

  /** Returns the token at the cursor, without moving the cursor. */
  private readToken(): Token {
    const before = this.position;
    try {
      for (;;) {
        this.match(SPACE);
        if (!this.skipsNewlines || this.source.text[this.position] !== '\n' || this.position >= this.end) break;
        this.position++;
      }
      return this.tokenHere();
    } finally {
      this.position = before;
    }
  }

  private tokenHere(): Token {
    const start = this.position;
    const made = (kind: TokenKind, text: string): Token => ({ kind, text, start, end: start + text.length });
    const character = this.source.text[start];
    if (start >= this.end || character === undefined) return { kind: 'end', text: '', start: this.end, end: this.end };
    if (character === '\n') return made('newline', character);
    if (character === '"') return made('quote', character);
    const heredoc = character === '<' ? this.match(HEREDOC) : undefined;
    if (heredoc !== undefined) return made('heredoc', heredoc);
    if (character === '/' && this.source.text[start + 1] === '*')
      throw this.failure({ start, end: start + 2 }, 'Unterminated comment', 'No closing "*/" was found.');
    const identifier = this.match(IDENTIFIER);
    if (identifier !== undefined) return made('identifier', identifier);
    const symbol = this.match(SYMBOL);
    if (symbol !== undefined) return made('symbol', symbol);
    const number = this.match(NUMBER);
    if (number !== undefined) return made('number', number);
    const [shown = character] = this.source.text.slice(start, start + 2);
    throw this.failure(
      { start, end: start + shown.length },
      'Invalid character',
      HINTS[shown] ?? 'This character is not used within the language.',
    );
  }
}
