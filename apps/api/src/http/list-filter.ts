import { Filter, FilterEvaluationError, FilterSyntaxError, FilterTooExpensiveError, StepBudget } from '@waybill/model';
import { badRequest } from './api-error.js';
import { param, type QueryString } from './query-string.js';

/**
 * The largest number of steps that a filter may take over one whole list: some seconds of one core, spread over the
 * pages that it reads.
 */
export const MAX_STEPS_PER_LIST = 500_000_000;

/** Returns a condition that is true if both conditions are true. An absent condition is true for every row. */
export function bothConditions<Row>(
  one: ((row: Row) => boolean) | undefined,
  other: (row: Row) => boolean,
): (row: Row) => boolean {
  return one === undefined ? other : (row) => other(row) && one(row);
}

/** ListFilter is the `filter` of a list request (API-67). It is applied to objects as they are stored. */
export class ListFilter {
  private constructor(private readonly filter: Filter) {}

  /**
   * Returns the filter of the request, or undefined if there is none. @throws Refusal invalid if it cannot be read
   * (API-71)
   */
  static of(query: QueryString): ListFilter | undefined {
    const text = param(query, 'filter');
    return text === undefined || text === '' ? undefined : ListFilter.parse(text);
  }

  /** @throws Refusal invalid */
  static parse(text: string): ListFilter {
    try {
      return new ListFilter(Filter.parse(text));
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      throw badRequest(`failed to create result paginator: failed to read filter expression: ${error.message}`);
    }
  }

  /**
   * Returns the condition for the rows of one run of the list. It throws a Refusal if it cannot decide (API-71).
   * @param objectOf returns the object that the expression is about
   */
  keep<Row extends object>(objectOf: (row: Row) => object = (row) => row): (row: Row) => boolean {
    const budget = new StepBudget(MAX_STEPS_PER_LIST);
    return (row) => {
      try {
        return this.filter.matches(objectOf(row), budget);
      } catch (error) {
        if (error instanceof FilterEvaluationError || error instanceof FilterTooExpensiveError)
          throw badRequest(`failed to read result page: ${error.message}`);
        throw error;
      }
    };
  }

  /** Does the same as `keep`, but a row for which it cannot decide does not match (EB-298). */
  certainCondition<Row extends object>(): (row: Row) => boolean {
    const budget = new StepBudget(MAX_STEPS_PER_LIST);
    return (row) => {
      try {
        return this.filter.matches(row, budget);
      } catch (error) {
        if (error instanceof FilterEvaluationError) return false;
        if (error instanceof FilterTooExpensiveError) throw badRequest(error.message);
        throw error;
      }
    };
  }
}
