import type { TemplateLimits } from './limits.js';
import { Lexer } from './lexer.js';
import { PipelineParser } from './pipeline-parser.js';
import type { Block, Pipeline, Statement } from './syntax-tree.js';
import { placeAt, TemplateLimitError } from './template-error.js';
import { TokenReader } from './token-reader.js';
import type { Delimiters } from './tokens.js';

export interface ParsedTemplate {
  readonly main: Block;
  /** By `define` and `block`. */
  readonly named: ReadonlyMap<string, Block>;
}

type Ending = 'end' | 'else' | null;

/** A block, and what ended it; null: the text did. */
interface Ended {
  readonly block: Block;
  readonly by: Ending;
  /** Where the action that ended it stands. */
  readonly at: number;
}

export interface ParserOptions {
  readonly delimiters: Delimiters;
  readonly limits: TemplateLimits;
  readonly hasFunction: (name: string) => boolean;
}

/**
 * A template's text as a tree. Recursive descent over the lexer's tokens; variables and functions are looked up while
 * reading, as Go does, so that a wrong name is found before anything is executed.
 */
export class TemplateParser {
  private readonly reader: TokenReader;
  private readonly pipelines: PipelineParser;
  private readonly named = new Map<string, Block>();
  private loops = 0;

  /** @throws TemplateSyntaxError, TemplateLimitError */
  constructor(
    { name, source }: { readonly name: string; readonly source: string },
    { delimiters, limits, hasFunction }: ParserOptions,
  ) {
    if (source.length > limits.sourceLength)
      throw new TemplateLimitError(placeAt(name, source, 0), `text is longer than ${limits.sourceLength}`);
    this.reader = new TokenReader(name, source, new Lexer(name, source, delimiters).scan(), limits.depth);
    this.pipelines = new PipelineParser(this.reader, hasFunction);
  }

  /** @throws TemplateSyntaxError, TemplateLimitError */
  parse(): ParsedTemplate {
    const { block, by, at } = this.block(true);
    if (by !== null) throw this.reader.error(`unexpected {{${by}}}`, at);
    return { main: block, named: this.named };
  }

  /** Up to its `end` or `else`, of which the word is read, or to the end of the text. */
  private block(isTop = false): Ended {
    const block: Statement[] = [];
    for (;;) {
      const { reader } = this;
      const start = reader.offset;
      if (reader.is('end')) return { block, by: null, at: start };
      if (reader.is('text')) {
        const { value, end } = reader.takeToken();
        block.push({ kind: 'text', text: String(value), start, end });
        continue;
      }
      const keyword = reader.keywordAhead();
      reader.expect('open', 'template');
      reader.skipSpace();
      if (keyword === 'end' || keyword === 'else') {
        reader.takeToken();
        return { block, by: keyword, at: start };
      }
      if (keyword === 'define' && isTop) this.define(start);
      else block.push(this.statement(keyword, start));
    }
  }

  private statement(keyword: string | null, start: number): Statement {
    const { reader } = this;
    switch (keyword) {
      case 'if':
      case 'with':
      case 'range':
        reader.takeToken();
        return this.branch(keyword, start);
      case 'template':
        reader.takeToken();
        return this.call(start);
      case 'block':
        reader.takeToken();
        return this.defineAndCall(start);
      case 'break':
      case 'continue':
        reader.takeToken();
        if (this.loops === 0) throw reader.error(`{{${keyword}}} outside {{range}}`, start);
        this.close(keyword);
        return { kind: keyword, start, end: reader.endOfLast };
      case 'define':
        throw reader.unexpected('command');
      default: {
        const pipeline = this.pipelines.pipeline('command');
        return { kind: 'action', pipeline, start, end: reader.endOfLast };
      }
    }
  }

  private branch(kind: 'if' | 'with' | 'range', start: number): Statement {
    return this.pipelines.scoped(() => {
      const pipeline = this.pipelines.pipeline(kind, kind === 'range' ? 2 : 1);
      if (kind === 'range') this.loops++;
      const body = this.inner(kind, start);
      if (kind === 'range') this.loops--;
      const otherwise = body.by === 'else' ? this.otherwise(kind, start) : [];
      return { kind, pipeline, body: body.block, otherwise, start, end: this.reader.endOfLast };
    });
  }

  /** `else` was read. `else if` and `else with` have no end of their own. */
  private otherwise(kind: 'if' | 'with' | 'range', start: number): Block {
    const { reader } = this;
    const from = reader.offset;
    reader.skipSpace();
    if (kind !== 'range' && reader.is('word', kind)) {
      reader.takeToken();
      return [reader.nested(() => this.branch(kind, from))];
    }
    this.close('else');
    const { block, by, at } = this.inner(kind, start);
    if (by === 'else') throw reader.error('expected end; found {{else}}', at);
    return block;
  }

  /** What `end` ends is closed here. */
  private inner(what: string, start: number): Ended {
    const ended = this.pipelines.scoped(() => this.reader.nested(() => this.block()));
    if (ended.by === null) throw this.reader.error(`unexpected end of template: {{${what}}} has no {{end}}`, start);
    if (ended.by === 'end') this.close('end');
    return ended;
  }

  private call(start: number): Statement {
    const name = this.name('template clause');
    const pipeline = this.optionalPipeline('template clause');
    return { kind: 'template', name, pipeline, start, end: this.reader.endOfLast };
  }

  private defineAndCall(start: number): Statement {
    const name = this.name('block clause');
    const pipeline = this.pipelines.pipeline('block clause');
    this.body(name, 'block', start);
    return { kind: 'template', name, pipeline, start, end: this.reader.endOfLast };
  }

  private define(start: number): void {
    this.reader.takeToken();
    const name = this.name('define clause');
    this.close('define clause');
    this.body(name, 'define', start);
  }

  private body(name: string, what: string, start: number): void {
    if (this.named.has(name)) throw this.reader.error(`multiple definition of template ${JSON.stringify(name)}`, start);
    const { loops } = this;
    this.loops = 0;
    const { block, by, at } = this.pipelines.alone(() => this.inner(what, start));
    this.loops = loops;
    if (by === 'else') throw this.reader.error(`unexpected {{else}} in ${what} clause`, at);
    this.named.set(name, block);
  }

  private name(context: string): string {
    this.reader.skipSpace();
    return String(this.reader.expect('string', context).value);
  }

  private optionalPipeline(context: string): Pipeline | null {
    this.reader.skipSpace();
    return this.reader.takeIf('close') ? null : this.pipelines.pipeline(context);
  }

  private close(context: string): void {
    this.reader.skipSpace();
    this.reader.expect('close', context);
  }
}
