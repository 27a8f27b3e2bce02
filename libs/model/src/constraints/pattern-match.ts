import { FilterSyntaxError, FilterTooExpensiveError } from '../filter/filter-error.js';
import { compilePattern } from '../filter/regular-expression.js';
import { StepBudget } from '../filter/step-budget.js';

/** Patterns kept compiled, over all evaluations of the process: those of the constraints in use. */
export const MAX_CACHED_PATTERNS = 512;
/** Steps that one match may take; linear time is not enough where a long pattern meets a long text. */
export const MAX_MATCH_STEPS = 1_000_000;

type Pattern = ReturnType<typeof compilePattern>;

/** Compiled patterns by text, oldest first; null: no pattern. Says nothing that the text does not, so it may be shared. */
const compiled = new Map<string, Pattern | null>();

/**
 * SC-58: whether a text contains a match of an RE2 pattern. An invalid pattern, and one that takes too many steps, matches
 * nothing. No pattern can hold a scheduler up: the engine follows all states at once, in time text × pattern, and a budget
 * ends it.
 */
export function matchesPattern(text: string, pattern: string): boolean {
  const program = patternOf(pattern);
  if (!program) return false;
  const budget = new StepBudget(MAX_MATCH_STEPS);
  try {
    return program.test(text, (steps) => budget.spend(steps));
  } catch (error) {
    if (error instanceof FilterTooExpensiveError) return false;
    throw error;
  }
}

function patternOf(text: string): Pattern | null {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const oldest = compiled.keys().next();
  if (compiled.size >= MAX_CACHED_PATTERNS && !oldest.done) compiled.delete(oldest.value);
  const made = compileOrNull(text);
  compiled.set(text, made);
  return made;
}

function compileOrNull(text: string): Pattern | null {
  try {
    return compilePattern(text);
  } catch (error) {
    if (error instanceof FilterSyntaxError) return null;
    throw error;
  }
}
