import type { JobspecError } from '../syntax/diagnostic.js';
import type { Span } from '../syntax/source-text.js';
import type { Expression } from '../syntax/syntax-tree.js';
import type { Scope } from './scope.js';
import type { StepBudget } from './step-budget.js';
import type { Value } from './value.js';

/** What evaluating one kind of expression asks of evaluating them all. */
export interface ExpressionEvaluation {
  readonly budget: StepBudget;
  /** @throws JobspecError */
  evaluate(expression: Expression, scope: Scope): Value;
  /** Undefined: it cannot be evaluated. */
  attempt(expression: Expression, scope: Scope): Value | undefined;
  /** @throws JobspecError with this summary where the value is no bool */
  boolean(expression: Expression, scope: Scope, summary: string, detail: string): boolean;
  /** One scope for every element of a `for`, with its names. @throws JobspecError */
  iterations(clause: { keyName: string | undefined; valueName: string; collection: Expression }, scope: Scope): Scope[];
  failure(expression: Expression, span: Span, summary: string, detail: string): JobspecError;
  /** Runs `make`; whatever is wrong with the values there gets the place. */
  located<T>(expression: Expression, span: Span, make: () => T): T;
  /** @throws JobspecError when evaluations are nested too deeply */
  nested<T>(expression: Expression, make: () => T): T;
}
