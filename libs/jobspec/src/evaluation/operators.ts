import type { BinaryOperator } from '../syntax/syntax-tree.js';
import { Decimal } from './decimal.js';
import { BOOL, ConversionError, convert, NUMBER } from './type.js';
import { equalValues, type Value } from './value.js';

/** An operator cannot use an operand (JS-33). */
export class OperandError extends Error {
  override readonly name = 'OperandError';
  readonly summary = 'Invalid operand';

  constructor(readonly detail: string) {
    super(detail);
  }
}

const ARITHMETIC: Readonly<Partial<Record<BinaryOperator, (a: Decimal, b: Decimal) => Value>>> = {
  '+': (a, b) => a.plus(b),
  '-': (a, b) => a.minus(b),
  '*': (a, b) => a.times(b),
  '/': (a, b) => a.dividedBy(b),
  '%': (a, b) => a.remainder(b),
  '<': (a, b) => a.compare(b) < 0,
  '<=': (a, b) => a.compare(b) <= 0,
  '>': (a, b) => a.compare(b) > 0,
  '>=': (a, b) => a.compare(b) >= 0,
};

/** Applies a binary operator (JS-33, JS-34). @throws OperandError, NumberOutOfRange */
export function binaryResult(operator: BinaryOperator, left: Value, right: Value): Value {
  if (operator === '==') return equalValues(left, right);
  if (operator === '!=') return !equalValues(left, right);
  const operate = ARITHMETIC[operator];
  if (operate) return operate(numberOf(left, 'left '), numberOf(right, 'right '));
  const [a, b] = [booleanOf(left, 'left '), booleanOf(right, 'right ')];
  return operator === '&&' ? a && b : a || b;
}

/** @throws OperandError */
export function unaryResult(operator: '-' | '!', operand: Value): Value {
  return operator === '-' ? numberOf(operand, '').negated() : !booleanOf(operand, '');
}

function numberOf(value: Value, side: string): Decimal {
  const number = attempted(value, NUMBER);
  if (number instanceof Decimal) return number;
  throw new OperandError(`Unsuitable value for ${side}operand: a number is required.`);
}

function booleanOf(value: Value, side: string): boolean {
  const boolean = attempted(value, BOOL);
  if (typeof boolean === 'boolean') return boolean;
  throw new OperandError(`Unsuitable value for ${side}operand: a bool is required.`);
}

function attempted(value: Value, type: typeof NUMBER): Value {
  try {
    return convert(value, type);
  } catch (error) {
    if (error instanceof ConversionError) return null;
    throw error;
  }
}
