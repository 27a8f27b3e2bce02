import { Decimal } from '../evaluation/decimal.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { ConversionError, toBoolean, toNumber, toText } from '../evaluation/type.js';
import { list, Mapping, Sequence, type Value } from '../evaluation/value.js';
import { goJson } from './go-json.js';
import { charactersOf } from '../characters.js';
import { FunctionError } from './function-table.js';

/** Flags, width, precision, index of the argument and verb of a directive; or a percent sign. */
const VERB = /%(?:%|([-0+ #]*)(\d*)(?:\.(\d+))?(?:\[(\d{1,4})\])?([a-zA-Z]))?/gu;
/** Largest width and precision. */
const MAX_WIDTH = 1000;

/** Implements `format` (jobspec.md §7). @throws FunctionError */
export function formatted(format: string, args: readonly Value[]): string {
  let next = 0;
  let used = 0;
  const text = format.replaceAll(
    VERB,
    (verb: string, flags = '', width = '', precision?: string, argument?: string, letter?: string) => {
      if (verb === '%%') return '%';
      if (letter === undefined)
        throw new FunctionError('a "%" that begins no verb; to have a percent sign, write it twice');
      const at = argument === undefined ? next : Number(argument) - 1;
      next = at + 1;
      used = Math.max(used, next);
      const value = args[at];
      if (value === undefined)
        throw new FunctionError(`not enough arguments for "${verb}": need index ${at} but have ${args.length} total`);
      const digits = precision === undefined ? undefined : bounded(Number(precision));
      const directive = { verb, at, letter, flags, width: bounded(Number(width)), precision: digits };
      return padded(converted(directive, value), directive, value);
    },
  );
  if (used < args.length) throw new FunctionError(`too many arguments; only ${used} used by format string`);
  return text;
}

/** Implements `formatlist`: each round takes one element of every list, and all other values unchanged. */
export function formattedList(format: string, args: readonly Value[], budget: StepBudget): Sequence {
  const lengths = args.filter((one) => one instanceof Sequence).map(({ items }) => items.length);
  const [length = 1] = lengths;
  if (lengths.some((one) => one !== length)) throw new FunctionError('all lists must have the same length');
  budget.spend(length);
  const row = (at: number): Value[] => args.map((one) => (one instanceof Sequence ? (one.items[at] ?? null) : one));
  return list(Array.from({ length }, (_, at) => budget.text(formatted(format, row(at)))));
}

function bounded(width: number): number {
  if (width <= MAX_WIDTH) return width;
  throw new FunctionError(`widths and precisions may be at most ${MAX_WIDTH}`);
}

/** One verb of a format with its modifiers. */
interface Directive {
  readonly verb: string;
  /** Index of its argument. */
  readonly at: number;
  readonly letter: string;
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
}

function converted(directive: Directive, value: Value): string {
  const { verb, at, letter } = directive;
  if (value === null && letter !== 'v')
    throw new FunctionError(`unsupported value for "${verb}" at ${at}: null value cannot be formatted`);
  try {
    return written(directive, value);
  } catch (error) {
    if (error instanceof ConversionError)
      throw new FunctionError(`unsupported value for "${verb}" at ${at}: ${error.message}`);
    throw error;
  }
}

/** @throws ConversionError */
function written({ letter, flags, precision }: Directive, value: Value): string {
  switch (letter) {
    case 's': {
      const text = toText(value);
      return precision === undefined ? text : charactersOf(text).slice(0, precision).join('');
    }
    case 'q':
      return goJson(toText(value));
    case 'v':
      if (flags.includes('#') || value === null || value instanceof Sequence || value instanceof Mapping)
        return goJson(value);
      return value instanceof Decimal ? general(value, undefined) : toText(value);
    case 't':
      return String(toBoolean(value));
    case 'd': {
      const digits = String(integer(value));
      return digits.startsWith('-')
        ? `-${digits.slice(1).padStart(precision ?? 0, '0')}`
        : digits.padStart(precision ?? 0, '0');
    }
    case 'X':
      return inBase(integer(value), 'x', flags.includes('#')).toUpperCase();
    case 'x':
    case 'b':
    case 'o':
      return inBase(integer(value), letter, flags.includes('#'));
    case 'f':
      return fixed(toNumber(value), precision ?? DEFAULT_PRECISION);
    case 'E':
      return exponential(toNumber(value), precision ?? DEFAULT_PRECISION).toUpperCase();
    case 'e':
      return exponential(toNumber(value), precision ?? DEFAULT_PRECISION);
    case 'G':
      return general(toNumber(value), precision).toUpperCase();
    case 'g':
      return general(toNumber(value), precision);
    default:
      throw new FunctionError(`unsupported format verb '${letter}'`);
  }
}

function integer(value: Value): bigint {
  const number = toNumber(value);
  if (!number.isWhole) throw new ConversionError('an integer is required');
  return number.toBigInt();
}

const BASES = { x: [16, '0x'], b: [2, '0b'], o: [8, '0'] } as const;

function inBase(number: bigint, letter: keyof typeof BASES, isMarked: boolean): string {
  const [base, mark] = BASES[letter];
  const digits = (number < 0n ? -number : number).toString(base);
  return `${number < 0n ? '-' : ''}${isMarked ? mark : ''}${digits}`;
}

/** Default number of decimal places. */
const DEFAULT_PRECISION = 6;

function fixed(number: Decimal, places: number): string {
  if (number.isInfinite) return infinity(number);
  const text = number.rounded(places).toString();
  const [whole = '', fraction = ''] = text.split('.');
  const sign = number.sign < 0 && !whole.startsWith('-') ? '-' : ''; // of what was rounded to zero
  return `${sign}${whole}${places === 0 ? '' : `.${fraction.padEnd(places, '0')}`}`;
}

/** Formats one digit, `places` more, and an exponent of at least two digits. */
function exponential(number: Decimal, places: number): string {
  if (number.isInfinite) return infinity(number);
  const rounded = toSignificant(number, places + 1);
  return scientific(rounded, rounded.scientific().digits.padEnd(places + 1, '0'));
}

/**
 * Formats the shorter notation: with an exponent if it is below -4, or not below the precision. Without a precision all
 * digits are shown, and the limit is the default precision.
 */
function general(number: Decimal, precision: number | undefined): string {
  if (number.isInfinite) return infinity(number);
  const significant = precision === undefined ? undefined : Math.max(precision, 1);
  const rounded = significant === undefined ? number : toSignificant(number, significant);
  const { digits, exponent } = rounded.scientific();
  const isWhole = significant !== undefined && significant > digits.length && digits.length > exponent;
  const limit = isWhole ? digits.length : (significant ?? DEFAULT_PRECISION);
  return exponent < -4 || exponent >= limit ? scientific(rounded, digits) : rounded.toString();
}

const toSignificant = (number: Decimal, digits: number): Decimal =>
  number.rounded(digits - 1 - number.scientific().exponent);

function scientific(number: Decimal, digits: string): string {
  const { exponent } = number.scientific();
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  const power = String(Math.abs(exponent)).padStart(2, '0');
  return `${number.sign < 0 ? '-' : ''}${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '-' : '+'}${power}`;
}

const infinity = (number: Decimal): string => (number.sign < 0 ? '-Inf' : '+Inf');

function padded(text: string, { flags, width, letter }: Directive, value: Value): string {
  if (letter === 't') return text;
  const isNumber = 'dfeEgGxXbo'.includes(letter) || (letter === 'v' && value instanceof Decimal);
  const positive = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  const signed = isNumber && !/^[+-]/u.test(text) ? `${positive}${text}` : text;
  if (flags.includes('-')) return signed.padEnd(width);
  if (!flags.includes('0')) return signed.padStart(width);
  const sign = isNumber ? (/^[+ -]/u.exec(signed)?.[0] ?? '') : '';
  return sign + signed.slice(sign.length).padStart(width - sign.length, '0');
}
