import { MAX_EVALUATION_STEPS, MAX_GENERATED_BLOCKS, MAX_STRING_LENGTH } from '../limits.js';

/** A job file needs more work than allowed. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

/** Counts the work of one parse. Every operation that can turn a little text into much work must be counted here. */
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

  /** Returns the text unless it is too long. */
  text(text: string): string {
    if (text.length > MAX_STRING_LENGTH)
      throw new BudgetExceeded(`a string is longer than ${MAX_STRING_LENGTH} characters`);
    this.spend(1 + (text.length >> 8));
    return text;
  }
}
