import type { JobspecError } from '../syntax/diagnostic.js';
import type { Span } from '../syntax/source-text.js';
import type { Expression } from '../syntax/syntax-tree.js';
import type { Scope } from './scope.js';
import type { StepBudget } from './step-budget.js';
import type { Value } from './value.js';

/** The evaluator, for the code that evaluates one kind of expression. */
export interface ExpressionEvaluation {
  readonly budget: StepBudget;
  /** @throws JobspecError */
  evaluate(expression: Expression, scope: Scope): Value;
  /** Returns undefined if the evaluation fails. */
  attempt(expression: Expression, scope: Scope): Value | undefined;
  /** @throws JobspecError with this summary if the value is not a bool */
  boolean(expression: Expression, scope: Scope, summary: string, detail: string): boolean;
  /** Returns a scope for every element of a `for`, with the names of its clause. @throws JobspecError */
  iterations(clause: { keyName: string | undefined; valueName: string; collection: Expression }, scope: Scope): Scope[];
  failure(expression: Expression, span: Span, summary: string, detail: string): JobspecError;
  /** Runs `make` and adds the position to errors about values. */
  located<T>(expression: Expression, span: Span, make: () => T): T;
  /** @throws JobspecError if evaluations are nested too deeply */
  nested<T>(expression: Expression, make: () => T): T;
}
