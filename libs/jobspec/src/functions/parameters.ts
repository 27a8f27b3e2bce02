import { Decimal } from '../evaluation/decimal.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { ANY, listOf, NUMBER, STRING } from '../evaluation/type.js';
import { Mapping, Sequence, typeName, type Value } from '../evaluation/value.js';
import { FunctionError, type LanguageFunction, type Parameter } from './function-table.js';

export const str = (name = 'str'): Parameter => ({ name, type: STRING });
export const num = (name = 'num'): Parameter => ({ name, type: NUMBER });
export const any = (name = 'value'): Parameter => ({ name, type: ANY });
export const nullable = (name = 'vals'): Parameter => ({ name, type: ANY, nullable: true });
export const strings = (name = 'list'): Parameter => ({ name, type: listOf(STRING) });

export type Call = LanguageFunction['call'];

export const of = (parameters: readonly Parameter[], call: Call, rest?: Parameter): LanguageFunction => ({
  parameters,
  call,
  ...(rest === undefined ? {} : { rest }),
});

/** A function whose last parameters are optional. */
export const from = (required: number, parameters: readonly Parameter[], call: Call): LanguageFunction => ({
  parameters,
  required,
  call,
});

/** A function from text to text. */
export const onText = (change: (text: string, budget: StepBudget) => Value): LanguageFunction =>
  of([str()], ([text], budget) => change(textOf(text), budget));

/** Returns an argument of the type that its parameter guarantees. Any other type is a bug of the table. */
export function textOf(value: Value | undefined): string {
  if (typeof value === 'string') return value;
  throw new FunctionError(`string required, but have ${typeName(value ?? null)}`);
}

export function numberOf(value: Value | undefined): Decimal {
  if (value instanceof Decimal) return value;
  throw new FunctionError(`number required, but have ${typeName(value ?? null)}`);
}

/** Returns a whole number that can be an index, a length or a base. */
export function wholeOf(value: Value | undefined): number {
  const number = numberOf(value);
  if (number.isWhole && Math.abs(number.toNumber()) <= Number.MAX_SAFE_INTEGER) return number.toNumber();
  throw new FunctionError('value must be a whole number');
}

export function itemsOf(value: Value | undefined): readonly Value[] {
  if (value instanceof Sequence) return value.items;
  throw new FunctionError(`list of any single type required, but have ${typeName(value ?? null)}`);
}

export function entriesOf(value: Value | undefined): ReadonlyMap<string, Value> {
  if (value instanceof Mapping) return value.entries;
  throw new FunctionError(`map of any single type required, but have ${typeName(value ?? null)}`);
}
