import { evaluate } from './evaluate.js';
import type { Expression } from './expression.js';
import { parseExpression } from './parser.js';
import { StepBudget } from './step-budget.js';

/** Most steps of an evaluation for one object. */
export const MAX_STEPS_PER_OBJECT = 2_000_000;

/**
 * A filter expression in the language of go-bexpr (API-67 to API-71), evaluated on stored rows. It is immutable and
 * uses no clock, so the state machine can evaluate it too. Secret members of an object count as unknown fields.
 *
 * Cost: parsing is linear. An evaluation costs as many steps as the expression has values to examine, within a budget.
 * An automaton runs regular expressions in time linear in the text, without backtracking.
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
   * Evaluates the filter for an object.
   * @param budget can be shared by several calls to limit their sum
   * @throws FilterEvaluationError, FilterTooExpensiveError
   */
  matches(object: object, budget: StepBudget = new StepBudget(MAX_STEPS_PER_OBJECT)): boolean {
    return evaluate(this.expression, object, budget);
  }
}
