import type { StepBudget } from '../evaluation/step-budget.js';
import type { Type } from '../evaluation/type.js';
import type { Value } from '../evaluation/value.js';

/** What a function did not like about its arguments. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
}

export interface Parameter {
  readonly name: string;
  readonly type: Type;
  readonly nullable?: boolean;
}

/** A function of the language: arguments arrive converted to the types of their parameters, and counted. */
export interface LanguageFunction {
  readonly parameters: readonly Parameter[];
  /** Any number of further arguments. */
  readonly rest?: Parameter;
  /** How many of `parameters` must be given; all, when absent. */
  readonly required?: number;
  /** @throws FunctionError, ConversionError, NumberOutOfRange */
  readonly call: (args: readonly Value[], budget: StepBudget) => Value;
}

export type FunctionTable = ReadonlyMap<string, LanguageFunction>;
