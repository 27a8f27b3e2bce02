import type { Scope } from './scope.js';
import type { Blame, StepsLeft } from './steps-left.js';
import type { Command, Operand, Pipeline } from './syntax-tree.js';
import { isFunction, isMap, lookUp, type TemplateFunction, truthOf, typeOf } from './values.js';

/** What a map's missing key is: `<no value>`, or an error. */
export type MissingKey = 'default' | 'error';

export interface EvaluationOptions {
  readonly functions: ReadonlyMap<string, TemplateFunction>;
  readonly missingKey: MissingKey;
  /** Of any string that a function answers. */
  readonly maxLength: number;
}

/** The value that a stage of a pipeline hands to the next; null in the first. */
type Piped = { readonly value: unknown } | null;

/** A command that calls a function by its name. */
interface NamedCall {
  readonly operand: Operand & { kind: 'function' };
  readonly command: Command;
  readonly piped: Piped;
}

/** Computes pipelines. Has no state of its own but the steps that are left. */
export class PipelineEvaluation {
  constructor(
    private readonly options: EvaluationOptions,
    private readonly steps: StepsLeft,
    private readonly blame: Blame,
  ) {}

  /** @throws TemplateExecutionError, TemplateLimitError */
  value(pipeline: Pipeline, dot: unknown, scope: Scope): unknown {
    let piped: Piped = null;
    for (const command of pipeline.commands) piped = { value: this.command(command, dot, scope, piped) };
    return piped?.value;
  }

  bind({ variables, assigns }: Pipeline, value: unknown, scope: Scope): void {
    for (const name of variables) scope[assigns ? 'assign' : 'declare'](name, value);
  }

  private command(command: Command, dot: unknown, scope: Scope, piped: Piped): unknown {
    const [first, ...others] = command.operands;
    if (first.kind === 'nil') throw this.blame(first, 'nil is not a command');
    const values = (): unknown[] => {
      const given = others.map((operand) => this.operand(operand, dot, scope));
      return piped ? [...given, piped.value] : given;
    };
    if (first.kind === 'function') return this.named({ operand: first, command, piped }, values, dot, scope);
    const callee = this.callee(first, dot, scope);
    if (callee) return this.called(command, nameOf(first), callee, values());
    if (others.length > 0 || piped) throw this.blame(others[0] ?? first, `can't give argument to non-function`);
    return this.operand(first, dot, scope);
  }

  /** A field that is a function: Go's methods. */
  private callee(operand: Operand, dot: unknown, scope: Scope): TemplateFunction | null {
    const hasPath = operand.kind === 'field' || operand.kind === 'chain' || operand.kind === 'variable';
    if (!hasPath || operand.path.length === 0) return null;
    const value = this.raw(operand, dot, scope);
    return isFunction(value) ? value : null;
  }

  private named(call: NamedCall, values: () => unknown[], dot: unknown, scope: Scope): unknown {
    const { operand, command } = call;
    if (operand.name === 'and' || operand.name === 'or') return this.shortCircuit(call, dot, scope);
    const given = values();
    if (operand.name !== 'call') {
      const called = this.options.functions.get(operand.name);
      if (!called) throw this.blame(operand, `function ${JSON.stringify(operand.name)} not defined`);
      return this.called(command, operand.name, called, given);
    }
    const [callee, ...rest] = given;
    if (isFunction(callee)) return this.called(command, 'call', callee, rest);
    throw this.blame(command, `error calling call: non-function of type ${typeOf(callee)}`);
  }

  /** `and` and `or` look at no more operands than they need. */
  private shortCircuit({ operand, command, piped }: NamedCall, dot: unknown, scope: Scope): unknown {
    const others = command.operands.slice(1);
    const until = operand.name === 'or';
    if (others.length === 0 && !piped)
      throw this.blame(operand, `wrong number of args for ${operand.name}: want at least 1 got 0`);
    let value: unknown;
    for (const other of others) {
      value = this.operand(other, dot, scope);
      if (truthOf(value) === until) return value;
    }
    return piped ? piped.value : value;
  }

  /** An operand that is given nothing. */
  private operand(operand: Operand, dot: unknown, scope: Scope): unknown {
    if (operand.kind === 'function') return this.command({ ...operand, operands: [operand] }, dot, scope, null);
    const value = this.raw(operand, dot, scope);
    const hasPath = 'path' in operand && operand.path.length > 0;
    return hasPath && isFunction(value) ? this.called(operand, nameOf(operand), value, []) : value;
  }

  private raw(operand: Operand, dot: unknown, scope: Scope): unknown {
    switch (operand.kind) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'literal':
        return operand.value;
      case 'field':
        return this.fields(dot, operand.path, operand);
      case 'variable':
        return this.fields(scope.value(operand.name), operand.path, operand);
      case 'chain':
        return this.fields(this.operand(operand.of, dot, scope), operand.path, operand);
      case 'pipeline':
        return this.parenthesized(operand.pipeline, dot, scope);
      case 'function':
        return this.operand(operand, dot, scope);
    }
  }

  private parenthesized(pipeline: Pipeline, dot: unknown, scope: Scope): unknown {
    const value = this.value(pipeline, dot, scope);
    this.bind(pipeline, value, scope);
    return value;
  }

  private fields(start: unknown, path: readonly string[], operand: Operand): unknown {
    let value = start;
    for (const [at, name] of path.entries()) {
      if (at > 0 && isFunction(value)) value = this.called(operand, name, value, []);
      value = this.field(value, name, operand);
    }
    return value;
  }

  private field(value: unknown, name: string, operand: Operand): unknown {
    // As in Go, what a map does not have has nothing either, but what is nil has no fields.
    if (value === undefined && this.options.missingKey === 'default') return undefined;
    if (value === null || value === undefined)
      throw this.blame(operand, `nil data; no entry for key ${JSON.stringify(name)}`);
    if (!isMap(value)) throw this.blame(operand, `can't evaluate field ${name} in type ${typeOf(value)}`);
    const found = lookUp(value, name);
    if (!found.found && this.options.missingKey === 'error')
      throw this.blame(operand, `map has no entry for key ${JSON.stringify(name)}`);
    return found.value;
  }

  private called(span: Operand | Command, name: string, callee: TemplateFunction, values: unknown[]): unknown {
    this.steps.takeStep(span.start);
    let result: unknown;
    try {
      result = callee(...values);
    } catch (error) {
      throw this.blame(span, `error calling ${name}: ${error instanceof Error ? error.message : String(error)}`, error);
    }
    if (typeof result === 'string' && result.length > this.options.maxLength)
      throw this.steps.exceeded(span.start, `a string is longer than ${this.options.maxLength}`);
    return result;
  }
}

const nameOf = (operand: Operand): string => ('path' in operand ? (operand.path.at(-1) ?? '') : operand.kind);
