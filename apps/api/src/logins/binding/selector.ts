import {
  Filter,
  FilterEvaluationError,
  FilterSyntaxError,
  FilterTooExpensiveError,
  type MappedClaims,
  type StepBudget,
} from '@waybill/model';

/**
 * Steps that all selectors of one login may take together: about 50 ms of one core, so that nobody else's request waits
 * for a login with large claims (AU-49). A rule beyond it does not match.
 */
export const MAX_SELECTOR_STEPS_PER_LOGIN = 200_000;

export interface SelectorVerdict {
  readonly matches: boolean;
  /** Why nobody can say whether it matches; it counts as no match (AU-48). */
  readonly problem?: string;
}

/**
 * Whether a binding rule's selector matches the mapped claims of a login (AU-46 to AU-49). An empty one matches everybody.
 * @param budget shared by all selectors of the login
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
