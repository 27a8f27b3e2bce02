import { FilterTooExpensiveError } from './filter-error.js';

/**
 * Steps that deciding may take: a comparison, an element looked at, a state of a regular expression per character.
 * It ends what would keep a process busy: quantifiers inside quantifiers, long patterns on long texts.
 */
export class StepBudget {
  constructor(private left: number) {}

  /** @throws FilterTooExpensiveError */
  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new FilterTooExpensiveError('the filter expression takes too many steps');
  }
}
