import { MAX_EVALUATION_STEPS, MAX_GENERATED_BLOCKS, MAX_STRING_LENGTH } from '../limits.js';

/** More work than one job file may make. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

/** Counts what one parse does; every way to make work out of little text must go past here. */
export class StepBudget {
  private steps = 0;
  private blocks = 0;

  spend(steps: number): void {
    this.steps += steps;
    if (this.steps > MAX_EVALUATION_STEPS)
      throw new BudgetExceeded(`evaluating the file takes more than ${MAX_EVALUATION_STEPS} steps`);
  }

  generate(): void {
    this.blocks++;
    if (this.blocks > MAX_GENERATED_BLOCKS)
      throw new BudgetExceeded(`dynamic blocks make more than ${MAX_GENERATED_BLOCKS} blocks`);
  }

  /** The text, if it is not too long. */
  text(text: string): string {
    if (text.length > MAX_STRING_LENGTH)
      throw new BudgetExceeded(`a string is longer than ${MAX_STRING_LENGTH} characters`);
    this.spend(1 + (text.length >> 8));
    return text;
  }
}
