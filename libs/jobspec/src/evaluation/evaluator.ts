import type { ExpressionEvaluation } from './expression-evaluation.js';
import type { FunctionTable } from '../functions/function-table.js';
import { FunctionError } from '../functions/function-table.js';
import { MAX_EVALUATION_DEPTH, MAX_NESTING } from '../limits.js';
import { JobspecError } from '../syntax/diagnostic.js';
import { nestedTooDeeply } from '../syntax/references.js';
import type { Span } from '../syntax/source-text.js';
import type { Expression, ForExpression, Reference, Step } from '../syntax/syntax-tree.js';
import { AccessError, elementOf, stepInto } from './access.js';
import { FunctionCalls } from './function-calls.js';
import { Decimal, NumberOutOfRange } from './decimal.js';
import { binaryResult, unaryResult, OperandError } from './operators.js';
import type { Scope } from './scope.js';
import { BudgetExceeded, type StepBudget } from './step-budget.js';
import { TemplateText } from './template-text.js';
import { normalised } from './normal-form.js';
import { BOOL, ConversionError, convert, toText } from './type.js';
import { MismatchError, unified } from './unification.js';
import { depthOf, Mapping, Sequence, tuple, typeName, type Value } from './value.js';

/** In `constant` mode, references and functions are errors (JS-73). */
export type Mode = 'full' | 'constant';

/** Returns key and value of every element, in the order of `for` (JS-37), or undefined if the value has no elements. */
export function elementsOf(value: Value): (readonly [key: Value, value: Value])[] | undefined {
  if (value instanceof Mapping) return [...value.entries];
  if (!(value instanceof Sequence)) return undefined;
  if (value.kind === 'set') return value.items.map((item) => [item, item]);
  return value.items.map((item, at) => [Decimal.of(at), item]);
}

/**
 * Evaluates expressions (JS-30ff). Every node costs a step of the budget, so no text runs for long. An error becomes a
 * JobspecError with a single diagnostic and its position.
 */
export class Evaluator implements ExpressionEvaluation {
  private readonly templates = new TemplateText(this);
  private readonly calls: FunctionCalls;
  private depth = 0;

  constructor(
    functions: FunctionTable,
    readonly budget: StepBudget,
    private readonly mode: Mode = 'full',
  ) {
    this.calls = new FunctionCalls(functions, this);
  }

  /** @throws JobspecError */
  evaluate(expression: Expression, scope: Scope): Value {
    // Inlines `nested` and `located`, because two closures for every node of the tree would be slow.
    this.enter(expression);
    try {
      this.budget.spend(1);
      const value = this.valueOf(expression, scope);
      if (typeof value === 'string') return normalised(value);
      if (depthOf(value) <= MAX_NESTING) return value;
    } catch (error) {
      throw placed(error, expression, expression.span);
    } finally {
      this.depth--;
    }
    throw this.failure(
      expression,
      expression.span,
      'Nesting too deep',
      `The value has lists and objects within each other, more than ${MAX_NESTING} deep.`,
    );
  }

  /** @throws JobspecError if evaluations are nested too deeply */
  nested<T>(expression: Expression, make: () => T): T {
    this.enter(expression);
    try {
      return make();
    } finally {
      this.depth--;
    }
  }

  private enter(expression: Expression): void {
    if (this.depth >= MAX_EVALUATION_DEPTH) throw nestedTooDeeply(expression);
    this.depth++;
  }

  /** Runs `make` and adds the position to errors about values. */
  located<T>(expression: Expression, span: Span, make: () => T): T {
    try {
      return make();
    } catch (error) {
      throw placed(error, expression, span);
    }
  }

  failure({ source }: Expression, span: Span, summary: string, detail: string): JobspecError {
    return new JobspecError([{ summary, detail, at: { source, span } }]);
  }

  private valueOf(expression: Expression, scope: Scope): Value {
    switch (expression.type) {
      case 'literal':
        return expression.value;
      case 'template':
        return this.templates.valueOf(expression.parts, expression, scope);
      case 'reference':
        return this.reference(expression, scope);
      case 'tuple':
        return tuple(expression.items.map((item) => this.evaluate(item, scope)));
      case 'object':
        return new Mapping(
          'object',
          expression.items.map(({ key, value }) => [this.key(key, scope), this.evaluate(value, scope)]),
        );
      case 'parenthesised':
        return this.evaluate(expression.inner, scope);
      case 'unary': {
        const operand = this.evaluate(expression.operand, scope);
        return this.located(expression, expression.operand.span, () => unaryResult(expression.operator, operand));
      }
      case 'binary':
        return binaryResult(
          expression.operator,
          this.evaluate(expression.left, scope),
          this.evaluate(expression.right, scope),
        );
      case 'conditional':
        return this.conditional(expression, scope);
      case 'call':
        if (this.mode === 'constant')
          throw this.failure(
            expression,
            expression.span,
            'Function calls not allowed',
            'Functions may not be called here.',
          );
        return this.calls.result(expression, scope);
      case 'step':
        return this.step(expression, this.evaluate(expression.of, scope), expression.step);
      case 'index':
        return elementOf(this.evaluate(expression.of, scope), this.evaluate(expression.key, scope));
      case 'splat':
        return this.splat(expression, scope);
      case 'for':
      default:
        return this.forResult(expression, scope);
    }
  }

  /** Evaluates a reference. One with an unknown root evaluates to its own text (JS-60 to JS-62). */
  private reference(reference: Reference, scope: Scope): Value {
    if (this.mode === 'constant' && !scope.has(reference.root))
      throw this.failure(reference, reference.span, 'Variables not allowed', 'Variables may not be used here.');
    if (!scope.has(reference.root))
      return `\${${reference.source.text.slice(reference.span.start, reference.span.end)}}`;
    let value = scope.get(reference.root);
    for (const step of reference.steps) value = this.step(reference, value, step);
    return value;
  }

  private step(at: Expression, value: Value, step: Step): Value {
    return this.located(at, step.span, () => stepInto(value, step));
  }

  private key(key: Expression, scope: Scope): string {
    const value = this.evaluate(key, scope);
    if (value === null) throw this.failure(key, key.span, 'Null value as key', "Can't use a null value as a key.");
    if (value instanceof Sequence || value instanceof Mapping)
      throw this.failure(
        key,
        key.span,
        'Incorrect key type',
        `Can't use this value as a key: string required, but have ${typeName(value)}.`,
      );
    return normalised(toText(value));
  }

  /** Evaluates a conditional. Errors of the branch not taken do not count (JS-36). */
  private conditional(expression: Extract<Expression, { type: 'conditional' }>, scope: Scope): Value {
    const { condition, whenTrue, whenFalse } = expression;
    const decided = this.boolean(
      condition,
      scope,
      'Incorrect condition type',
      'The condition expression must be of type bool.',
    );
    const taken = this.evaluate(decided ? whenTrue : whenFalse, scope);
    const other = this.attempt(decided ? whenFalse : whenTrue, scope);
    if (other === undefined) return taken;
    try {
      return unified(taken, other);
    } catch (error) {
      if (!(error instanceof MismatchError)) throw error;
      const { at, mine, its } = error;
      const [yes, no] = decided ? [mine, its] : [its, mine];
      throw this.failure(
        expression,
        expression.span,
        'Inconsistent conditional result types',
        `The true and false result expressions must have consistent types. ${at}The 'true' value is ${typeName(yes)}, but the 'false' value is ${typeName(no)}.`,
      );
    }
  }

  /** Returns the value, or undefined if the evaluation fails. Exceeding the budget stays an error. */
  attempt(expression: Expression, scope: Scope): Value | undefined {
    try {
      return this.evaluate(expression, scope);
    } catch (error) {
      if (!(error instanceof JobspecError)) throw error;
      this.budget.spend(0);
      return undefined;
    }
  }

  boolean(expression: Expression, scope: Scope, summary: string, detail: string): boolean {
    const value = this.evaluate(expression, scope);
    if (value === null)
      throw this.failure(
        expression,
        expression.span,
        'Null condition',
        'The condition value is null. Conditions must either be true or false.',
      );
    try {
      const converted = convert(value, BOOL);
      if (typeof converted === 'boolean') return converted;
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
    }
    throw this.failure(expression, expression.span, summary, detail);
  }

  /** Evaluates a splat. A single value counts as a list of one element, null as an empty list (JS-38). */
  private splat({ of, steps }: Extract<Expression, { type: 'splat' }>, scope: Scope): Value {
    const value = this.evaluate(of, scope);
    if (value === null) return tuple([]);
    const items = value instanceof Sequence ? value.items : [value];
    this.budget.spend(items.length);
    return tuple(
      items.map((item) =>
        steps.reduce<Value>(
          (inner, step) => ('kind' in step ? this.step(of, inner, step) : elementOf(inner, this.evaluate(step, scope))),
          item,
        ),
      ),
    );
  }

  /** Returns a scope for every element of a `for`, with the names of its clause. */
  iterations(
    clause: { keyName: string | undefined; valueName: string; collection: Expression },
    scope: Scope,
  ): Scope[] {
    const { collection, keyName, valueName } = clause;
    const value = this.evaluate(collection, scope);
    if (value === null)
      throw this.failure(
        collection,
        collection.span,
        'Iteration over null value',
        "A null value cannot be used as the collection in a 'for' expression.",
      );
    const elements = elementsOf(value);
    if (!elements)
      throw this.failure(
        collection,
        collection.span,
        'Iteration over non-iterable value',
        `A value of type ${typeName(value)} cannot be used as the collection in a 'for' expression.`,
      );
    return elements.map(([key, item]) =>
      scope.with([...(keyName === undefined ? [] : [[keyName, key] as const]), [valueName, item]]),
    );
  }

  /** Evaluates a `for` expression. Only grouping may produce a key twice (JS-37). */
  private forResult(expression: ForExpression, scope: Scope): Value {
    const { key, value, condition, groups } = expression;
    const scopes = this.iterations(expression, scope).filter(
      (inner) =>
        condition === undefined ||
        this.boolean(condition, inner, "Invalid 'for' condition", "The 'if' clause value must be of type bool."),
    );
    if (key === undefined) return tuple(scopes.map((inner) => this.evaluate(value, inner)));
    const entries = new Map<string, Value[]>();
    for (const inner of scopes) {
      const name = this.key(key, inner);
      const before = entries.get(name);
      if (before !== undefined && !groups)
        throw this.failure(
          expression,
          key.span,
          'Duplicate object key',
          `Two different items produced the key "${name}" in this 'for' expression. If duplicates are expected, use the ellipsis (...) after the value expression to enable grouping by key.`,
        );
      entries.set(name, [...(before ?? []), this.evaluate(value, inner)]);
    }
    return new Mapping(
      'object',
      [...entries].map(([name, items]) => [name, groups ? tuple(items) : (items[0] ?? null)]),
    );
  }
}

/** Adds the position to an error about values. @throws any other error unchanged */
function placed(error: unknown, { source }: Expression, span: Span): JobspecError {
  const [summary, detail] = described(error);
  return new JobspecError([{ summary, detail, at: { source, span } }]);
}

/** Returns summary and detail of an error about values. Any other error is a bug and is thrown on. */
function described(error: unknown): readonly [string, string] {
  if (error instanceof OperandError || error instanceof AccessError) return [error.summary, error.detail];
  if (error instanceof ConversionError) return ['Unsuitable value type', `Unsuitable value: ${error.message}`];
  if (error instanceof NumberOutOfRange) return ['Operation failed', `Error during operation: ${error.message}.`];
  if (error instanceof FunctionError) return ['Error in function call', error.message];
  if (error instanceof BudgetExceeded) return ['Job file too expensive', `${error.message}.`];
  throw error;
}
