import { FilterSyntaxError } from './filter-error.js';

/**
 * Longest expression, in characters. It is longer than any request line; only the body of a deletion could hold more.
 */
export const MAX_EXPRESSION_LENGTH = 65_536;

export type Punctuation = '==' | '!=' | '(' | ')' | '{' | '}' | ',';

export type Token = { readonly at: number } & (
  | { readonly kind: 'punctuation'; readonly text: Punctuation }
  | { readonly kind: 'number'; readonly text: string }
  /** A word, or a path of words and keys: `Meta.key`, `Meta["a.b"]`, `TaskGroups.0.Name`. */
  | { readonly kind: 'path'; readonly text: string; readonly parts: readonly string[] }
  /** `pointer` has the parts of the string if it is a JSON pointer. */
  | { readonly kind: 'string'; readonly text: string; readonly pointer: readonly string[] | undefined }
  | { readonly kind: 'end'; readonly text: '' }
);

const SPACE = /[ \t\r\n]*/y;
const PUNCTUATION = /==|!=|[(){},]/y;
const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)(?![\w.])/y;
const WORD = /[a-zA-Z_][a-zA-Z0-9_/]*/y;
const MEMBER = /\.([a-zA-Z_][a-zA-Z0-9_/]*|\d+)/y;
const KEY_START = /\[[ \t\r\n]*/y;
const KEY_END = /[ \t\r\n]*\]/y;
const RAW = /`([^`]*)`/y;
const QUOTED = /"((?:[^"\\\n]|\\.)*)"/y;
const POINTER = /^(?:\/[\p{L}\p{N}\-_.~:|]+)+$/u;

/** Returns the tokens of an expression. The last token is `end`. Linear. @throws FilterSyntaxError */
export function tokensOf(text: string): Token[] {
  if (text.length > MAX_EXPRESSION_LENGTH)
    throw new FilterSyntaxError(`the expression is longer than ${MAX_EXPRESSION_LENGTH} characters`);
  const lexer = new Lexer(text);
  const tokens: Token[] = [];
  for (;;) {
    const token = lexer.next();
    tokens.push(token);
    if (token.kind === 'end') return tokens;
  }
}

/** Formats a position as `line:column (offset)`, like go-bexpr. */
export function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return `${line}:${at - before.lastIndexOf('\n')} (${at})`;
}

class Lexer {
  private at = 0;
  constructor(private readonly text: string) {}

  next(): Token {
    this.takeMatch(SPACE);
    const { at } = this;
    if (at === this.text.length) return { kind: 'end', text: '', at };
    const punctuation = this.takeMatch(PUNCTUATION)?.[0];
    if (punctuation !== undefined) return { kind: 'punctuation', text: punctuation as Punctuation, at };
    const number = this.takeMatch(NUMBER)?.[0];
    if (number !== undefined) return { kind: 'number', text: number, at };
    const string = this.string();
    if (string !== undefined) return { kind: 'string', text: string, pointer: pointerOf(string), at };
    const word = this.takeMatch(WORD)?.[0];
    if (word !== undefined) return this.path(word, at);
    throw new FilterSyntaxError(`${placeOf(this.text, at)}: no match found, unexpected ${this.found()}`);
  }

  private path(word: string, at: number): Token {
    const parts = [word];
    for (;;) {
      const member = this.takeMatch(MEMBER)?.[1] ?? this.key();
      if (member === undefined) return { kind: 'path', text: this.text.slice(at, this.at), parts, at };
      parts.push(member);
    }
  }

  private key(): string | undefined {
    if (!this.takeMatch(KEY_START)) return undefined;
    const key = this.string();
    if (key === undefined || !this.takeMatch(KEY_END))
      throw new FilterSyntaxError(`${placeOf(this.text, this.at)}: a key in brackets is a quoted string`);
    return key;
  }

  private string(): string | undefined {
    const raw = this.takeMatch(RAW)?.[1];
    if (raw !== undefined) return raw;
    const quoted = this.takeMatch(QUOTED)?.[1];
    if (quoted !== undefined) return unescaped(quoted);
    if (this.text[this.at] !== '"' && this.text[this.at] !== '`') return undefined;
    throw new FilterSyntaxError(`${placeOf(this.text, this.at)}: unterminated string literal`);
  }

  private takeMatch(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match) this.at = pattern.lastIndex;
    return match ?? undefined;
  }

  private found(): string {
    return JSON.stringify(String.fromCodePoint(this.text.codePointAt(this.at) ?? 0));
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))/g, (_, hex, unicode, other: string) => {
    const code = (hex ?? unicode) as string | undefined;
    return code === undefined ? (ESCAPES[other] ?? other) : String.fromCharCode(Number.parseInt(code, 16));
  });
}

function pointerOf(text: string): string[] | undefined {
  if (!POINTER.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}
