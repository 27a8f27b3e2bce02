import type { ExpressionReader } from './expression-reader.js';
import type { JobspecError } from './diagnostic.js';
import type { ForClause, ForParser } from './for-parser.js';
import { withoutIndentation } from './heredoc-indentation.js';
import type { Span } from './source-text.js';
import { MAX_NESTING } from '../limits.js';
import { nearest } from '../nearest-name.js';
import type { Expression, Label, TemplatePart } from './syntax-tree.js';
import type { TokenReader } from './token-reader.js';

type Directive =
  | { readonly word: 'if'; readonly condition: Expression }
  | {
      readonly word: 'for';
      readonly clause: ForClause;
    }
  | { readonly word: 'else' | 'endif' | 'endfor' };

/** A part of a template before its directives are paired. `trims*` is set for a `~` next to a delimiter (JS-24). */
type Piece = { readonly span: Span; readonly trimsBefore: boolean; readonly trimsAfter: boolean } & (
  | { readonly kind: 'text'; text: string }
  | { readonly kind: 'interpolation'; readonly value: Expression; readonly verbatim: string }
  | { readonly kind: 'directive'; readonly directive: Directive }
);

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };
/** Characters without a special meaning in a template. */
const PLAIN_TEXT = /[^"\\$%\n]+/uy;
const UNICODE_ESCAPE = /u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/uy;
/** A text in quotes up to its end. Whether JSON accepts what is in it is for the parser of JSON to say. */
const JSON_STRING = /"(?:[^"\\]|\\[^])*"/uy;
const DIRECTIVE_WORDS = ['if', 'else', 'endif', 'for', 'endfor'];

/** A text in quotes is a template (JS-18), or a string of JSON, in which `${` has no meaning. */
export type QuotedText = 'template' | 'json';

/** Parses quoted strings, heredocs and labels: characters with embedded expressions (JS-18 to JS-24). */
export class TemplateParser {
  constructor(
    private readonly tokens: TokenReader,
    private readonly expressions: ExpressionReader,
    private readonly fors: ForParser,
    private readonly strings: QuotedText = 'template',
  ) {}

  /** Parses a quoted string (JS-18). The cursor is before the opening quote. */
  quoted(): Expression {
    const { tokens } = this;
    if (this.strings === 'json') return this.jsonString();
    const open = tokens.next();
    const pieces = this.pieces(true);
    const span = { start: open.start, end: tokens.position };
    return this.template(withTrimming(pieces), span, false);
  }

  private jsonString(): Expression {
    const { tokens } = this;
    const { source } = tokens;
    const open = tokens.peek();
    JSON_STRING.lastIndex = open.start;
    const found = JSON_STRING.exec(source.text)?.[0] ?? '';
    const value = jsonText(found);
    if (value === undefined)
      throw tokens.failure(
        open,
        'Invalid JSON string',
        'It has no end, or a character that must be escaped, or an unknown escape.',
      );
    const span = { start: open.start, end: open.start + found.length };
    tokens.seek(span.end);
    return { type: 'literal', value, source, span };
  }

  /** Parses a label: a quoted string without expressions (JS-13). */
  label(): Label {
    const open = this.tokens.next();
    const pieces = this.pieces(true);
    const other = pieces.find((piece) => piece.kind !== 'text');
    if (other)
      throw this.tokens.failure(
        other.span,
        'Invalid string literal',
        'Template sequences are not allowed in this string. To include a literal "$", double it (as "$$") to escape it.',
      );
    const text = pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('');
    return { text, span: { start: open.start, end: this.tokens.position } };
  }

  /** Parses a heredoc (JS-21, JS-22). The cursor is before `<<`. */
  heredoc(): Expression {
    const { tokens } = this;
    const { text } = tokens.source;
    const open = tokens.next();
    const lineEnd = text.indexOf('\n', open.end);
    const marker = text.slice(open.end, lineEnd).trimEnd();
    const end = this.heredocEnd(lineEnd + 1, marker);
    if (end === undefined) throw this.unterminated(open);
    tokens.seek(lineEnd + 1);
    const pieces = withTrimming(tokens.upTo(end.contentEnd, () => this.pieces(false)).flatMap(lineByLine));
    tokens.seek(end.markerEnd);
    const span = { start: open.start, end: end.markerEnd };
    return this.template(open.text === '<<-' ? this.dedented(pieces) : pieces, span, true);
  }

  /** Returns the end of the text and the end of the end marker. */
  private heredocEnd(from: number, marker: string): { contentEnd: number; markerEnd: number } | undefined {
    const { limit, source } = this.tokens;
    for (let start = from; start < limit;) {
      const newline = source.text.indexOf('\n', start);
      if (newline === -1 || newline >= limit) return undefined;
      const line = source.text.slice(start, newline);
      if (line.trim() === marker) return { contentEnd: start, markerEnd: start + line.trimEnd().length };
      start = newline + 1;
    }
    return undefined;
  }

  private dedented(pieces: Piece[]): Piece[] {
    const dedented = withoutIndentation(pieces.map((piece) => (piece.kind === 'text' ? piece.text : undefined)));
    return pieces.map((piece, at) => (piece.kind === 'text' ? { ...piece, text: dedented[at] ?? '' } : piece));
  }

  /** Parses up to and including the closing quote, or up to the end of a heredoc. */
  private pieces(isQuoted: boolean): Piece[] {
    const { tokens } = this;
    const { text } = tokens.source;
    const start = tokens.position;
    const pieces: Piece[] = [];
    let literal = '';
    let literalStart = start;
    const flush = (): void => {
      const span = { start: literalStart, end: tokens.position };
      if (literal !== '') pieces.push({ kind: 'text', text: literal, span, trimsBefore: false, trimsAfter: false });
      literal = '';
    };
    for (;;) {
      literal += this.plainText();
      const at = tokens.position;
      const character = text[at];
      if (at >= tokens.limit || character === undefined) {
        if (isQuoted) throw this.unterminated({ start: start - 1, end: start });
        flush();
        return pieces;
      }
      if (isQuoted && character === '"') {
        flush();
        tokens.seek(at + 1);
        return pieces;
      }
      if (isQuoted && character === '\n') throw this.multiLine({ start: start - 1, end: at });
      if (isQuoted && character === '\\') {
        literal += this.escape();
      } else if (text.startsWith('$${', at) || text.startsWith('%%{', at)) {
        literal += `${character}{`;
        tokens.seek(at + 3);
      } else if (text.startsWith('${', at) || text.startsWith('%{', at)) {
        flush();
        pieces.push(tokens.nested(() => this.sequence(character === '%')));
        literalStart = tokens.position;
      } else {
        literal += character;
        tokens.seek(at + 1);
      }
    }
  }

  /** Consumes text up to the next special character, or the limit. */
  private plainText(): string {
    const { tokens } = this;
    PLAIN_TEXT.lastIndex = tokens.position;
    const found = PLAIN_TEXT.exec(tokens.source.text)?.[0].slice(0, tokens.limit - tokens.position) ?? '';
    tokens.seek(tokens.position + found.length);
    return found;
  }

  /** Parses an escape sequence and refuses an unknown one (JS-18). */
  private escape(): string {
    const { tokens } = this;
    const start = tokens.position;
    const selector = String.fromCodePoint(tokens.source.text.codePointAt(start + 1) ?? 0x20);
    const simple = ESCAPES[selector];
    if (simple !== undefined) {
      tokens.seek(start + 2);
      return simple;
    }
    tokens.seek(start + 1);
    const unicode = tokens.match(UNICODE_ESCAPE);
    const code = unicode === undefined ? -1 : Number.parseInt(unicode.slice(1), 16);
    if (code >= 0 && code <= 0x10_ff_ff) return String.fromCodePoint(code);
    throw tokens.failure(
      { start, end: start + 1 + selector.length },
      'Invalid escape sequence',
      selector === 'u' || selector === 'U'
        ? 'The \\u escape sequence must be followed by four hexadecimal digits, \\U by the eight of a character.'
        : `The symbol "${selector}" is not a valid escape sequence selector.`,
    );
  }

  /** Parses `${ … }` or `%{ … }`. */
  private sequence(isDirective: boolean): Piece {
    const { tokens } = this;
    const start = tokens.position;
    tokens.seek(start + 2);
    const trimsBefore = tokens.source.text[start + 2] === '~';
    if (trimsBefore) tokens.seek(start + 3);
    return tokens.ignoringNewlines(true, () => {
      const content = isDirective ? this.directive() : this.expressions.expression();
      const trimsAfter = tokens.takes('~');
      if (!tokens.takes('}'))
        throw tokens.failure(
          tokens.peek().kind === 'end' ? { start, end: start + 2 } : tokens.peek(),
          isDirective
            ? 'Extra characters in template control sequence'
            : 'Extra characters after interpolation expression',
          `Expected a closing brace to end the ${isDirective ? 'control sequence' : 'interpolation expression'}, but found extra characters.`,
        );
      const span = { start, end: tokens.position };
      const shared = { span, trimsBefore, trimsAfter };
      if ('word' in content) return { kind: 'directive', directive: content, ...shared };
      const inner = tokens.source.text.slice(start + (trimsBefore ? 3 : 2), tokens.position - (trimsAfter ? 2 : 1));
      return { kind: 'interpolation', value: content, verbatim: `\${${inner}}`, ...shared };
    });
  }

  /** Parses the keyword of a template directive and its expression (JS-23). */
  private directive(): Directive {
    const { tokens } = this;
    const token = tokens.next();
    switch (token.text) {
      case 'if':
        return { word: 'if', condition: this.expressions.expression() };
      case 'for':
        return { word: 'for', clause: this.fors.clause() };
      case 'else':
      case 'endif':
      case 'endfor':
        return { word: token.text };
      default: {
        const near = token.text === 'elseif' ? 'else' : nearest(token.text, DIRECTIVE_WORDS);
        throw tokens.failure(
          token,
          'Invalid template control keyword',
          `"${token.text}" is not a valid template control keyword.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
        );
      }
    }
  }

  private template(pieces: Piece[], span: Span, isHeredoc: boolean): Expression {
    const { source } = this.tokens;
    const parts = this.paired(pieces, span);
    if (parts.every((part) => part.kind === 'text')) {
      const value = parts.map((part) => part.text).join('');
      // Diagnostics point at the text instead of its quotes (JS-193).
      const place = isHeredoc || value === '' ? span : { start: span.start + 1, end: span.end - 1 };
      return { type: 'literal', value, source, span: place };
    }
    return { type: 'template', parts, source, span };
  }

  /** Pairs directives and collects the parts between them. */
  private paired(pieces: readonly Piece[], whole: Span): TemplatePart[] {
    let at = 0;
    const until = (ends: readonly string[], opened: Span, depth = 0): { parts: TemplatePart[]; end: string } => {
      if (depth > MAX_NESTING)
        throw this.tokens.failure(opened, 'Nesting too deep', `Directives may be nested ${MAX_NESTING} deep.`);
      const parts: TemplatePart[] = [];
      for (;;) {
        const piece = pieces[at++];
        if (piece === undefined) {
          if (ends.length === 0) return { parts, end: '' };
          throw this.unpaired(opened, 'The directive has no end', ends);
        }
        if (piece.kind !== 'directive') {
          parts.push(piece);
          continue;
        }
        const { directive, span } = piece;
        if (directive.word === 'if') {
          const first = until(['else', 'endif'], span, depth + 1);
          const whenFalse = first.end === 'else' ? until(['endif'], span, depth + 1).parts : [];
          parts.push({ kind: 'if', condition: directive.condition, whenTrue: first.parts, whenFalse });
        } else if (directive.word === 'for') {
          parts.push({ kind: 'for', ...directive.clause, body: until(['endfor'], span, depth + 1).parts });
        } else if (ends.includes(directive.word)) {
          return { parts, end: directive.word };
        } else {
          throw this.unpaired(span, `Unexpected "${directive.word}"`, ends);
        }
      }
    };
    return until([], whole).parts;
  }

  private unpaired(span: Span, what: string, ends: readonly string[]): JobspecError {
    const expected =
      ends.length === 0 ? 'no directive is open' : `expected ${ends.map((end) => `"${end}"`).join(' or ')}`;
    return this.tokens.failure(span, 'Invalid template control sequence', `${what}: ${expected}.`);
  }

  private unterminated(span: Span): JobspecError {
    return this.tokens.failure(span, 'Unterminated template string', 'No closing marker was found for the string.');
  }

  private multiLine(span: Span): JobspecError {
    return this.tokens.failure(
      span,
      'Invalid multi-line string',
      'Quoted strings may not be split over multiple lines. To produce a multi-line string, either use the \\n escape to represent a newline character or use the "heredoc" multi-line template syntax.',
    );
  }
}

/** Returns undefined for a text that is no string of JSON. */
function jsonText(written: string): string | undefined {
  try {
    return JSON.parse(written) as string;
  } catch {
    return undefined;
  }
}

/** Splits text of a heredoc into pieces of one line each, with their line breaks. */
function lineByLine(piece: Piece): Piece[] {
  if (piece.kind !== 'text') return [piece];
  let { start } = piece.span;
  return (piece.text.match(/[^\n]*\n|[^\n]+$/gu) ?? []).map((text) => {
    const span = { start, end: Math.min(start + text.length, piece.span.end) };
    start = span.end;
    return { ...piece, text, span };
  });
}

/**
 * Applies tildes, which remove white space from the adjacent piece of text (JS-24). In a heredoc, a piece is a line or
 * a part of one, so a tilde at the start of a line removes the end of the previous line.
 */
function withTrimming(pieces: readonly Piece[]): Piece[] {
  return pieces.map((piece, at) => {
    if (piece.kind !== 'text') return piece;
    let { text } = piece;
    if (pieces[at - 1]?.trimsAfter === true) text = text.trimStart();
    if (pieces[at + 1]?.trimsBefore === true) text = text.trimEnd();
    return { ...piece, text };
  });
}
