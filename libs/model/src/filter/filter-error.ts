/** An expression that is none: where it goes wrong, and what was expected there. */
export class FilterSyntaxError extends Error {
  override readonly name = 'FilterSyntaxError';
}

/** An expression that cannot be decided for an object: an unknown field, a value of another type (API-70). */
export class FilterEvaluationError extends Error {
  override readonly name = 'FilterEvaluationError';
}

/** Deciding takes more steps than it may. */
export class FilterTooExpensiveError extends Error {
  override readonly name = 'FilterTooExpensiveError';
}
