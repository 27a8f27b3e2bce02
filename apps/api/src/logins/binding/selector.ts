import {
  Filter,
  FilterEvaluationError,
  FilterSyntaxError,
  FilterTooExpensiveError,
  type MappedClaims,
  type StepBudget,
} from '@waybill/model';

/**
 * The largest number of steps that all selectors of one login may take together: about 50 ms of one core, so that a
 * login with large claims does not delay other requests (AU-49). A rule beyond the limit does not match.
 */
export const MAX_SELECTOR_STEPS_PER_LOGIN = 200_000;

export interface SelectorVerdict {
  readonly matches: boolean;
  /** The reason why the selector cannot be decided. It counts as no match (AU-48). */
  readonly problem?: string;
}

/**
 * Says whether a binding rule's selector matches the mapped claims of a login (AU-46 to AU-49). An empty selector
 * matches everybody.
 * @param budget the steps, which all selectors of the login share
 */
export function selectorMatches(selector: string, claims: MappedClaims, budget: StepBudget): SelectorVerdict {
  if (selector === '') return { matches: true };
  try {
    return { matches: Filter.parse(selector).matches(claims, budget) };
  } catch (error) {
    const isKnown =
      error instanceof FilterEvaluationError ||
      error instanceof FilterSyntaxError ||
      error instanceof FilterTooExpensiveError;
    if (!isKnown) throw error;
    return { matches: false, problem: error.message };
  }
}
