import type { Evaluator } from './evaluation/evaluator.js';
import type { Scope } from './evaluation/scope.js';
import { ConversionError, toBoolean } from './evaluation/type.js';
import type { Value } from './evaluation/value.js';
import { JobspecError } from './syntax/diagnostic.js';
import type { Expression } from './syntax/syntax-tree.js';
import { referencesIn } from './syntax/references.js';
import type { GivenValue } from './variable-values.js';
import type { Validation, Variable } from './variables.js';

/**
 * Checks every validation of a variable against its value (JS-81, JS-82). @throws JobspecError with the first failure
 */
export function checkVariable(variable: Variable, given: GivenValue, scope: Scope, evaluator: Evaluator): void {
  for (const validation of variable.validations) checkOne({ name: variable.name, validation, given }, scope, evaluator);
}

/** One validation of the variable `name`, and the value to check. */
interface Check {
  readonly name: string;
  readonly validation: Validation;
  readonly given: GivenValue;
}

function checkOne({ name, validation, given }: Check, scope: Scope, evaluator: Evaluator): void {
  const { condition, block } = validation;
  checkReferences(name, condition, evaluator);
  const value = evaluator.evaluate(condition, scope);
  const result = asBoolean(value);
  if (result === undefined)
    throw evaluator.failure(
      condition,
      condition.span,
      'Invalid variable validation result',
      `The validation condition must yield true or false, not ${value === null ? 'null' : 'another value'}.`,
    );
  const text = messageOf(validation, scope, evaluator);
  if (result) return;
  const { source } = block.body;
  throw new JobspecError([
    {
      summary: `Invalid value for ${given.origin} variable`,
      detail: `${text}\n\nThis was checked by the validation rule at ${source.rangeOf(block.headerSpan)}.`,
      at: { source, span: block.headerSpan },
    },
  ]);
}

function checkReferences(name: string, condition: Expression, evaluator: Evaluator): void {
  const references = referencesIn(condition);
  const isOwn = (one: (typeof references)[number]): boolean => {
    const [step] = one.steps;
    return one.root === 'var' && step?.kind === 'attribute' && step.name === name;
  };
  const stranger = references.find((one) => !isOwn(one));
  if (stranger)
    throw evaluator.failure(
      stranger,
      stranger.span,
      'Invalid reference in variable validation',
      `The condition for variable "${name}" can only refer to the variable itself, using var.${name}.`,
    );
  if (references.length === 0)
    throw evaluator.failure(
      condition,
      condition.span,
      'Invalid variable validation condition',
      `The condition for variable "${name}" must refer to var.${name} in order to test incoming values.`,
    );
}

function messageOf({ message }: Validation, scope: Scope, evaluator: Evaluator): string {
  const text = evaluator.evaluate(message, scope);
  if (typeof text === 'string' && text.trim() !== '') return text;
  throw evaluator.failure(
    message,
    message.span,
    'Invalid validation error message',
    'An empty or blank string is not a valid nor useful error message.',
  );
}

function asBoolean(value: Value): boolean | undefined {
  try {
    return toBoolean(value);
  } catch (error) {
    if (error instanceof ConversionError) return undefined;
    throw error;
  }
}
