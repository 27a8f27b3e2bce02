import { FilterTooExpensiveError } from './filter-error.js';

/**
 * Budget of steps for an evaluation. A step is a comparison, an examined element, or one state of a regular expression
 * for one character. It stops work that would keep a process busy: nested quantifiers, and long patterns on long texts.
 */
export class StepBudget {
  constructor(private left: number) {}

  /** @throws FilterTooExpensiveError */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new FilterTooExpensiveError('the filter expression takes too many steps');
  }
}
