import type { JobspecError } from './diagnostic.js';
import { ExpressionParser } from './expression-parser.js';
import type { QuotedText } from './template-parser.js';
import { SourceText, type Span } from './source-text.js';
import type { Attribute, Block, Body, Label } from './syntax-tree.js';
import { type Token, TokenReader } from './token-reader.js';

/** Parses a file into its syntax tree (JS-12 to JS-16). @throws JobspecError with the first diagnostic */
export function parseBody(source: SourceText): Body {
  const tokens = new TokenReader(source);
  return new BodyParser(tokens, 'strict').file();
}

/**
 * Parses a file in the layout of HCL 1, in which policies are written: line breaks are free, commas may follow items of
 * a body, names may be quoted, and an argument may be set twice. Both values are in the tree.
 * @throws JobspecError with the first diagnostic
 */
export function parseFreeBody(source: SourceText): Body {
  const tokens = new TokenReader(source);
  return new BodyParser(tokens, 'free').file();
}

/**
 * Parses a text that is a single expression, such as the value of a variable (JS-76).
 * @param strings what a text in quotes is
 * @throws JobspecError
 */
export function parseExpression(
  source: SourceText,
  strings: QuotedText = 'template',
): ReturnType<ExpressionParser['whole']> {
  const tokens = new TokenReader(source);
  return new ExpressionParser(tokens, strings).whole();
}

/** The attributes of a body so far, in file order. */
interface AttributeList {
  readonly all: Attribute[];
  readonly byName: Map<string, Attribute>;
}

class BodyParser {
  private readonly expressions: ExpressionParser;

  constructor(
    private readonly tokens: TokenReader,
    private readonly layout: 'strict' | 'free',
  ) {
    this.expressions = new ExpressionParser(tokens);
  }

  file(): Body {
    const body = this.body(undefined);
    return body;
  }

  /** @param open the brace before the body, or undefined for the whole file */
  private body(open: Token | undefined): Body {
    const { tokens } = this;
    const start = tokens.position;
    const attributes = this.noAttributes();
    const blocks: Block[] = [];
    for (;;) {
      const token = tokens.peek();
      if (token.kind === 'newline' || (this.layout === 'free' && tokens.isSymbol(','))) {
        tokens.next();
        continue;
      }
      if (token.kind === 'end' && open === undefined) break;
      if (token.kind === 'end' && open !== undefined) throw this.unclosed(open);
      if (open !== undefined && tokens.isSymbol('}')) break;
      this.item(attributes, blocks);
    }
    return this.made(attributes, blocks, start);
  }

  /** Parses an attribute or a block, and the end of its line. */
  private item(attributes: AttributeList, blocks: Block[]): void {
    const { tokens } = this;
    const name = this.name();
    if (tokens.isSymbol('=')) {
      this.set(attributes, this.attribute(name));
      this.endOfLine('Missing newline after argument', 'An argument definition must end with a newline.');
      return;
    }
    const next = tokens.peek();
    if (next.kind !== 'quote' && next.kind !== 'identifier' && !tokens.isSymbol('{'))
      throw next.kind === 'newline' && name.text !== ''
        ? this.blockWithoutContent(next, name)
        : tokens.failure(
            name,
            'Argument or block definition required',
            'An argument or block definition is required here. To set an argument, use the equals sign "=" to introduce the argument value.',
          );
    blocks.push(tokens.nested(() => this.block(name)));
    this.endOfLine('Missing newline after block definition', 'A block definition must end with a newline.');
  }

  /** Parses an attribute's name or a block's type. Quotes are refused unless the layout is free (JS-15). */
  private name(): Token {
    const { tokens } = this;
    if (this.layout === 'free' && tokens.peek().kind === 'quote') {
      const { text, span } = this.expressions.label();
      return { kind: 'identifier', text, ...span };
    }
    const token = tokens.next();
    if (token.kind === 'identifier') return token;
    if (token.kind === 'quote')
      throw tokens.failure(token, 'Invalid argument name', 'Argument names must not be quoted.');
    throw tokens.failure(
      token,
      'Argument or block definition required',
      'An argument or block definition is required here.',
    );
  }

  private attribute(name: Token): Attribute {
    this.tokens.next();
    return { name: name.text, nameSpan: spanOf(name), value: this.expressions.expression() };
  }

  /** Adds an attribute. Setting it twice is an error in the strict layout (JS-16). */
  private set(attributes: AttributeList, attribute: Attribute): void {
    const before = attributes.byName.get(attribute.name);
    attributes.all.push(attribute);
    attributes.byName.set(attribute.name, attribute);
    if (before && this.layout === 'strict')
      throw this.tokens.failure(
        attribute.nameSpan,
        'Attribute redefined',
        `The argument "${attribute.name}" was already set at ${this.tokens.source.rangeOf(before.nameSpan)}. Each argument may be set only once.`,
      );
  }

  private block(type: Token): Block {
    const { tokens } = this;
    const labels: Label[] = [];
    for (;;) {
      const token = tokens.peek();
      if (token.kind === 'quote') labels.push(this.expressions.label());
      else if (token.kind === 'identifier') labels.push({ text: tokens.next().text, span: spanOf(token) });
      else break;
    }
    const open = tokens.peek();
    if (!tokens.takes('{')) throw this.blockWithoutContent(open, type);
    const isOneLine = this.layout === 'strict' && tokens.peek().kind !== 'newline';
    const body = isOneLine ? this.oneLine(open) : this.body(open);
    if (!tokens.takes('}')) throw this.unclosed(open);
    const headerSpan = { start: type.start, end: labels.at(-1)?.span.end ?? type.end };
    return { type: type.text, typeSpan: spanOf(type), labels, openSpan: spanOf(open), body, headerSpan };
  }

  /** Parses the body of a one-line block: nothing, or a single argument (JS-14). */
  private oneLine(open: Token): Body {
    const { tokens } = this;
    const attributes = this.noAttributes();
    const start = tokens.position;
    if (tokens.peek().kind === 'end') throw this.unclosed(open);
    if (!tokens.isSymbol('}')) {
      const name = this.name();
      if (!tokens.isSymbol('='))
        throw tokens.failure(
          name,
          'Argument definition required',
          'A single-line block definition can contain only a single argument. If you want to define multiple arguments or nested blocks, place each on a separate line.',
        );
      this.set(attributes, this.attribute(name));
      if (!tokens.isSymbol('}'))
        throw tokens.failure(
          tokens.peek(),
          'Invalid single-argument block definition',
          'A single-line block definition must end with a closing brace immediately after its single argument definition.',
        );
    }
    return this.made(attributes, [], start);
  }

  private endOfLine(summary: string, detail: string): void {
    if (this.layout === 'free') return;
    const token = this.tokens.peek();
    if (token.kind === 'newline') this.tokens.next();
    else if (token.kind !== 'end') throw this.tokens.failure(token, summary, detail);
  }

  private noAttributes(): AttributeList {
    return { all: [], byName: new Map() };
  }

  private made({ all }: AttributeList, blocks: readonly Block[], start: number): Body {
    const { source, position } = this.tokens;
    return { source, attributes: all, blocks, span: { start, end: position } };
  }

  private unclosed(open: Span): JobspecError {
    return this.tokens.failure(
      open,
      'Unclosed configuration block',
      'There is no closing brace for this block before the end of the file. This may be caused by incorrect brace nesting elsewhere in this file.',
    );
  }

  /** Refuses a block whose `{` is missing on the line of its type (JS-13). */
  private blockWithoutContent(at: Token, type: Token): JobspecError {
    return this.tokens.failure(
      at.kind === 'end' ? type : at,
      'Invalid block definition',
      'A block definition must have block content delimited by "{" and "}", starting on the same line as the block header.',
    );
  }
}

const spanOf = ({ start, end }: Span): Span => ({ start, end });
