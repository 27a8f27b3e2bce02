import { Decimal } from '../evaluation/decimal.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { num, numberOf, of, str, textOf, wholeOf } from './parameters.js';
import type { Value } from '../evaluation/value.js';

const MAX_EXPONENT = 1000;

export const NUMBER_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  abs: of([num()], ([n]) => (numberOf(n).sign < 0 ? numberOf(n).negated() : numberOf(n))),
  ceil: of([num()], ([n]) => numberOf(n).negated().floor().negated()),
  floor: of([num()], ([n]) => numberOf(n).floor()),
  log: of([num(), num('base')], ([n, base]) =>
    Decimal.ofFloat(Math.log(numberOf(n).toNumber()) / Math.log(numberOf(base).toNumber())),
  ),
  max: of([], (numbers) => extreme(numbers, 1), num('numbers')),
  min: of([], (numbers) => extreme(numbers, -1), num('numbers')),
  parseint: of([str('number'), num('base')], ([text, base]) => parsed(textOf(text), wholeOf(base))),
  pow: of([num(), num('power')], ([base, exponent]) => power(numberOf(base), numberOf(exponent))),
  signum: of([num()], ([n]) => Decimal.of(numberOf(n).sign)),
};

function extreme(numbers: readonly Value[], sign: 1 | -1): Decimal {
  const [first, ...others] = numbers.map(numberOf);
  if (!first) throw new FunctionError('must pass at least one number');
  return others.reduce((best, one) => (one.compare(best) * sign > 0 ? one : best), first);
}

function power(base: Decimal, exponent: Decimal): Decimal {
  if (!exponent.isWhole || Math.abs(exponent.toNumber()) > MAX_EXPONENT)
    return Decimal.ofFloat(base.toNumber() ** exponent.toNumber());
  let result = Decimal.of(1);
  for (let left = Math.abs(exponent.toNumber()); left > 0; left--) result = result.times(base);
  return exponent.sign < 0 ? Decimal.of(1).dividedBy(result) : result; // By zero: an infinity.
}

/** Above base 36, upper-case letters are further digits. */
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const CASELESS_BASE = 36;

function parsed(text: string, base: number): Decimal {
  if (base < 2 || base > DIGITS.length)
    throw new FunctionError('base must be a whole number between 2 and 62 inclusive');
  const bare = text.replace(/^[+-]/u, '');
  const unsigned = base > CASELESS_BASE ? bare : bare.toLowerCase();
  const digits = Array.from(unsigned).map((digit) => DIGITS.indexOf(digit));
  if (digits.length === 0 || digits.some((digit) => digit < 0 || digit >= base))
    throw new FunctionError(`cannot parse ${JSON.stringify(text)} as a base ${base} integer`);
  const whole = digits.reduce((sum, digit) => sum * BigInt(base) + BigInt(digit), 0n);
  return Decimal.of(text.startsWith('-') ? -whole : whole);
}
