import { FilterSyntaxError, FilterTooExpensiveError } from '../filter/filter-error.js';
import { compilePattern } from '../filter/regular-expression.js';
import { StepBudget } from '../filter/step-budget.js';

/** Number of compiled patterns that the process caches across evaluations. */
export const MAX_CACHED_PATTERNS = 512;
/** Most steps of one match. Linear time alone is too slow for a long pattern on a long text. */
export const MAX_MATCH_STEPS = 1_000_000;

type Pattern = ReturnType<typeof compilePattern>;

/**
 * Compiled patterns by their text, oldest first, null for an invalid one. The cache depends on the text alone, so all
 * evaluations may share it.
 */
const compiled = new Map<string, Pattern | null>();

/**
 * Whether a text contains a match of an RE2 pattern (SC-58). An invalid pattern, and one that takes too many steps,
 * matches nothing. No pattern can hold up a scheduler: the engine follows all states at once, in time text × pattern,
 * within a budget of steps.
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
