import { evaluate } from './evaluate.js';
import type { Expression } from './expression.js';
import { parseExpression } from './parser.js';
import { StepBudget } from './step-budget.js';

/** Steps that deciding about one object may take. */
export const MAX_STEPS_PER_OBJECT = 2_000_000;

/**
 * A filter expression, in the language of go-bexpr (API-67 to API-71): what it says of one object, which is a row as it
 * is stored. Immutable and without a clock, so it may also decide inside the state machine. Secrets of an object are
 * unknown fields to it.
 *
 * Cost: parsing is linear; deciding is what the expression looks at, at most the budget. Regular expressions are run by
 * an automaton in time linear in the text, never by backtracking.
 */
export class Filter {
  private constructor(
    readonly text: string,
    private readonly expression: Expression,
  ) {}

  /** @throws FilterSyntaxError */
  static parse(text: string): Filter {
    return new Filter(text, parseExpression(text));
  }

  /**
   * @param budget shared by several calls where their sum is to be limited
   * @throws FilterEvaluationError, FilterTooExpensiveError
   */
  matches(object: object, budget: StepBudget = new StepBudget(MAX_STEPS_PER_OBJECT)): boolean {
    return evaluate(this.expression, object, budget);
  }
}
