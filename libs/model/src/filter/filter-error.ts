/** A text is not a valid expression. The message contains the position and the expected tokens. */
export class FilterSyntaxError extends Error {
  override readonly name = 'FilterSyntaxError';
}

/** An expression cannot be evaluated for an object, because a field is unknown or a value has another type (API-70). */
export class FilterEvaluationError extends Error {
  override readonly name = 'FilterEvaluationError';
}

/** The evaluation takes more steps than it may. */
export class FilterTooExpensiveError extends Error {
  override readonly name = 'FilterTooExpensiveError';
}
