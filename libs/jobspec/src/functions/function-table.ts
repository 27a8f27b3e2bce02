import type { StepBudget } from '../evaluation/step-budget.js';
import type { Type } from '../evaluation/type.js';
import type { Value } from '../evaluation/value.js';

/** A function refuses its arguments. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
}

export interface Parameter {
  readonly name: string;
  readonly type: Type;
  readonly nullable?: boolean;
}

/**
 * A function of the language. Its arguments are counted and converted to the types of the parameters before the call.
 */
export interface LanguageFunction {
  readonly parameters: readonly Parameter[];
  /** Type of any further arguments. */
  readonly rest?: Parameter;
  /** Number of `parameters` that must be given. All of them if absent. */
  readonly required?: number;
  /** @throws FunctionError, ConversionError, NumberOutOfRange */
  readonly call: (args: readonly Value[], budget: StepBudget) => Value;
}

export type FunctionTable = ReadonlyMap<string, LanguageFunction>;
