import type { Command, Operand, Pipeline } from './syntax-tree.js';
import type { TokenReader } from './token-reader.js';

type NonEmpty<T> = [T, ...T[]];

/**
 * Reads what stands inside an action: `$x := .List | len`. Knows which variables are declared where it reads, and which
 * functions there are; both are errors of the text, not of its execution.
 */
export class PipelineParser {
  /** Innermost last. */
  private readonly variables: string[] = ['$'];

  constructor(
    private readonly reader: TokenReader,
    private readonly hasFunction: (name: string) => boolean,
  ) {}

  /** What `read` declares is unknown after it. */
  scoped<T>(read: () => T): T {
    const mark = this.variables.length;
    const result = read();
    this.variables.length = mark;
    return result;
  }

  /** In a template of its own only `$` is declared. */
  alone<T>(read: () => T): T {
    const outer = this.variables.splice(1);
    const result = read();
    this.variables.splice(1, this.variables.length, ...outer);
    return result;
  }

  /** Up to and with the closing delimiter. @throws TemplateSyntaxError */
  pipeline(context: string, maxVariables = 1): Pipeline {
    const pipeline = this.upTo(context, maxVariables);
    this.reader.expect('close', context);
    return pipeline;
  }

  private upTo(context: string, maxVariables: number): Pipeline {
    this.reader.skipSpace();
    const start = this.reader.offset;
    const { variables, assigns } = this.declaration(context, maxVariables);
    const commands: NonEmpty<Command> = [this.command(context)];
    while (this.reader.takeIf('mark', '|')) commands.push(this.command(context, commands.length + 1));
    if (!assigns) for (const item of variables) this.variables.push(item);
    return { variables, assigns, commands, start, end: this.reader.endOfLast };
  }

  /** `$x :=`, `$x =`, `$i, $x :=`; a variable that is no declaration is left for the first command. */
  private declaration(context: string, max: number): { variables: string[]; assigns: boolean } {
    const { reader } = this;
    if (!reader.is('variable') || !reader.declares()) return { variables: [], assigns: false };
    const variables: string[] = [];
    do {
      reader.skipSpace();
      const at = reader.offset;
      variables.push(String(reader.expect('variable', context).value));
      if (variables.length > max) throw reader.error(`too many declarations in ${context}`, at);
      reader.skipSpace();
    } while (reader.takeIf('mark', ','));
    const assigns = reader.is('mark', '=');
    if (assigns) for (const name of variables) this.mustBeDeclared(name, reader.offset);
    if (!assigns && !reader.is('mark', ':=')) throw reader.unexpected(context);
    reader.takeToken();
    reader.skipSpace();
    return { variables, assigns };
  }

  private command(context: string, stage = 1): Command {
    const { reader } = this;
    reader.skipSpace();
    const start = reader.offset;
    const first = this.operand(context);
    if (first === null) {
      if (reader.is('end') || !(reader.is('close') || reader.is('mark', '|') || reader.is('mark', ')')))
        throw reader.unexpected(context);
      throw reader.error(`missing value for ${context}`);
    }
    if (stage > 1 && (first.kind === 'dot' || first.kind === 'nil' || first.kind === 'literal'))
      throw reader.error(`non executable command in pipeline stage ${stage}`, first.start);
    const operands: NonEmpty<Operand> = [first];
    let end = reader.endOfLast;
    while (reader.takeIf('space')) {
      const operand = this.operand(context);
      if (operand === null) break;
      operands.push(operand);
      end = reader.endOfLast;
    }
    if (!reader.is('close') && !reader.is('mark', '|') && !reader.is('mark', ')')) throw reader.unexpected('operand');
    return { operands, start, end };
  }

  private operand(context: string): Operand | null {
    const start = this.reader.offset;
    const term = this.term(context, start);
    if (term === null || !this.reader.is('field')) return term;
    const path = this.path();
    const end = this.reader.endOfLast;
    switch (term.kind) {
      case 'field':
      case 'variable':
        return { ...term, path: [...term.path, ...path], end };
      case 'dot':
      case 'nil':
      case 'literal':
        throw this.reader.error('unexpected . after a term that has no fields', start);
      default:
        return { kind: 'chain', of: term, path, start, end };
    }
  }

  private path(): string[] {
    const path: string[] = [];
    while (this.reader.is('field')) path.push(String(this.reader.takeToken().value));
    return path;
  }

  private term(context: string, start: number): Operand | null {
    const { reader } = this;
    const { kind, value, end } = reader.next;
    switch (kind) {
      case 'string':
      case 'number':
        reader.takeToken();
        return { kind: 'literal', value, start, end };
      case 'field':
        reader.takeToken();
        return { kind: 'field', path: [String(value)], start, end };
      case 'variable':
        this.mustBeDeclared(String(value), start);
        reader.takeToken();
        return { kind: 'variable', name: String(value), path: [], start, end };
      case 'word':
        return this.word(String(value), start, end);
      case 'mark':
        if (reader.takeIf('mark', '.')) return { kind: 'dot', start, end };
        if (!reader.takeIf('mark', '(')) return null;
        return reader.nested(() => {
          const pipeline = this.upTo('parenthesized pipeline', 1);
          if (!reader.takeIf('mark', ')')) throw reader.error('unclosed left paren', start);
          return { kind: 'pipeline', pipeline, start, end: reader.endOfLast };
        });
      case 'open':
        throw reader.unexpected(context);
      default:
        return null;
    }
  }

  private word(word: string, start: number, end: number): Operand {
    this.reader.takeToken();
    if (word === 'true' || word === 'false') return { kind: 'literal', value: word === 'true', start, end };
    if (word === 'nil') return { kind: 'nil', start, end };
    if (!this.hasFunction(word)) throw this.reader.error(`function ${JSON.stringify(word)} not defined`, start);
    return { kind: 'function', name: word, start, end };
  }

  private mustBeDeclared(name: string, offset: number): void {
    if (!this.variables.includes(name)) throw this.reader.error(`undefined variable ${JSON.stringify(name)}`, offset);
  }
}
