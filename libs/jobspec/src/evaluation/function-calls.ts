import type { ExpressionEvaluation } from './expression-evaluation.js';
import {
  FunctionError,
  type FunctionTable,
  type LanguageFunction,
  type Parameter,
} from '../functions/function-table.js';
import { nearest } from '../nearest-name.js';
import { JobspecError } from '../syntax/diagnostic.js';
import type { Expression } from '../syntax/syntax-tree.js';
import { NumberOutOfRange } from './decimal.js';
import type { Scope } from './scope.js';
import { typeFrom } from './type-expression.js';
import { ConversionError, convert } from './type.js';
import { Sequence, type Value } from './value.js';

type Call = Extract<Expression, { type: 'call' }>;

/** Functions that control the evaluation of their arguments. */
const SPECIAL = ['can', 'convert', 'try'];

/** Evaluates function calls (JS-39): checks the number and types of arguments, and reports errors of the function. */
export class FunctionCalls {
  constructor(
    private readonly functions: FunctionTable,
    private readonly evaluator: ExpressionEvaluation,
  ) {}

  result(call: Call, scope: Scope): Value {
    switch (call.name) {
      case 'try':
        return this.firstThatWorks(call, scope);
      case 'can':
        this.counted(call, 1);
        return call.args.every((argument) => this.evaluator.attempt(argument, scope) !== undefined);
      case 'convert':
        return this.converted(call, scope);
      default:
        return this.called(call, scope);
    }
  }

  private called(call: Call, scope: Scope): Value {
    const found = this.functions.get(call.name);
    if (!found) throw this.unknown(call);
    const args = this.arguments(call, scope);
    this.checkCount(call, found, args.length);
    const converted = args.map((argument, at) => this.argument(call, at, parameterAt(found, at), argument));
    try {
      return found.call(converted, this.evaluator.budget);
    } catch (error) {
      if (error instanceof FunctionError || error instanceof ConversionError || error instanceof NumberOutOfRange)
        throw this.evaluator.failure(
          call,
          call.span,
          'Error in function call',
          `Call to function "${call.name}" failed: ${error.message}.`,
        );
      throw error;
    }
  }

  private arguments(call: Call, scope: Scope): Value[] {
    const values = call.args.map((argument) => this.evaluator.evaluate(argument, scope));
    if (!call.spreads) return values;
    const last = values.pop() ?? null;
    if (!(last instanceof Sequence))
      throw this.evaluator.failure(
        call,
        call.span,
        'Invalid expanding argument value',
        'The expanding argument (indicated by ...) must be of a tuple, list, or set type.',
      );
    return [...values, ...last.items];
  }

  private argument(call: Call, at: number, parameter: Parameter, value: Value): Value {
    const place = call.args[Math.min(at, call.args.length - 1)] ?? call;
    const refused = (why: string): JobspecError =>
      this.evaluator.failure(
        place,
        place.span,
        'Invalid function argument',
        `Invalid value for "${parameter.name}" parameter: ${why}.`,
      );
    if (value === null && parameter.nullable !== true) throw refused('argument must not be null');
    try {
      return convert(value, parameter.type);
    } catch (error) {
      if (error instanceof ConversionError) throw refused(error.message);
      throw error;
    }
  }

  private checkCount(
    call: Call,
    { parameters, rest, required = parameters.length }: LanguageFunction,
    count: number,
  ): void {
    const missing = parameters[count];
    if (count < required && missing)
      throw this.tooFew(call, required, rest !== undefined || required < parameters.length, missing.name);
    if (rest === undefined && count > parameters.length)
      throw this.evaluator.failure(
        call,
        call.span,
        'Too many function arguments',
        `Function "${call.name}" expects only ${parameters.length} argument(s).`,
      );
  }

  private counted(call: Call, count: number): void {
    if (call.args.length < count) throw this.tooFew(call, count, false, 'expression');
    if (call.args.length > count)
      throw this.evaluator.failure(
        call,
        call.span,
        'Too many function arguments',
        `Function "${call.name}" expects only ${count} argument(s).`,
      );
  }

  private tooFew(call: Call, required: number, more: boolean, missing: string): JobspecError {
    return this.evaluator.failure(
      call,
      call.span,
      'Not enough function arguments',
      `Function "${call.name}" expects ${more ? 'at least ' : ''}${required} argument(s). Missing value for "${missing}".`,
    );
  }

  private firstThatWorks(call: Call, scope: Scope): Value {
    if (call.args.length === 0) throw this.tooFew(call, 1, true, 'expressions');
    for (const argument of call.args) {
      const value = this.evaluator.attempt(argument, scope);
      if (value !== undefined) return value;
    }
    throw this.evaluator.failure(
      call,
      call.span,
      'Error in function call',
      'Call to function "try" failed: no expression succeeded.',
    );
  }

  private converted(call: Call, scope: Scope): Value {
    this.counted(call, 2);
    const [value, type] = call.args;
    if (!value || !type) return null;
    return convert(this.evaluator.evaluate(value, scope), typeFrom(type));
  }

  private unknown(call: Call): JobspecError {
    const near = nearest(call.name, [...this.functions.keys(), ...SPECIAL]);
    return this.evaluator.failure(
      call,
      call.nameSpan,
      'Call to unknown function',
      `There is no function named "${call.name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    );
  }
}

function parameterAt({ parameters, rest }: LanguageFunction, at: number): Parameter {
  const parameter = parameters[at] ?? rest;
  if (!parameter) throw new RangeError('more arguments than were counted');
  return parameter;
}
