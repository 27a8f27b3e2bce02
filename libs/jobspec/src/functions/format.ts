import { jsonOf } from '../decoding/json.js';
import { Decimal } from '../evaluation/decimal.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { ConversionError, toBoolean, toNumber, toText } from '../evaluation/type.js';
import { list, Sequence, type Value } from '../evaluation/value.js';
import { goJson } from './go-json.js';
import { charactersOf } from '../characters.js';
import { FunctionError } from './function-table.js';

/** Flags, width, precision, which argument, and how to write it; or a percent sign. */
const VERB = /%(?:%|([-0+ #]*)(\d*)(?:\.(\d+))?(?:\[(\d{1,4})\])?([a-zA-Z]))?/gu;
/** Widths and precisions beyond this are no formatting any more. */
const MAX_WIDTH = 1000;

/** `format` (jobspec.md §7). @throws FunctionError */
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
      return padded(converted(letter, flags, value, digits), flags, bounded(Number(width)), letter);
    },
  );
  if (used < args.length) throw new FunctionError(`too many arguments; only ${used} used by format string`);
  return text;
}

/** `formatlist`: lists give one element each time, everything else is the same each time. */
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

function converted(letter: string, flags: string, value: Value, precision: number | undefined): string {
  try {
    switch (letter) {
      case 's': {
        const text = toText(value);
        return precision === undefined ? text : charactersOf(text).slice(0, precision).join('');
      }
      case 'q':
        return JSON.stringify(toText(value));
      case 'v':
        return flags.includes('#') || value === null || (typeof value === 'object' && !(value instanceof Decimal))
          ? goJson(jsonOf(value))
          : toText(value);
      case 't':
        return String(toBoolean(value));
      case 'd':
        return String(toNumber(value).truncated());
      case 'X':
        return converted('x', flags, value, precision).toUpperCase();
      case 'x':
      case 'b':
      case 'o':
        return inBase(toNumber(value).truncated().toBigInt(), letter, flags.includes('#'));
      case 'f':
      case 'F':
        return fixed(toNumber(value), precision ?? 6);
      case 'E':
        return converted('e', flags, value, precision).toUpperCase();
      case 'e':
        return exponential(
          toNumber(value)
            .toNumber()
            .toExponential(precision ?? 6),
        );
      case 'g':
      case 'G':
        return toNumber(value).toString();
      default:
        throw new FunctionError(`unsupported format verb "%${letter}"`);
    }
  } catch (error) {
    if (error instanceof ConversionError)
      throw new FunctionError(`unsuitable value for "%${letter}": ${error.message}`);
    throw error;
  }
}

const BASES = { x: [16, '0x'], b: [2, '0b'], o: [8, '0'] } as const;

function inBase(number: bigint, letter: keyof typeof BASES, isMarked: boolean): string {
  const [base, mark] = BASES[letter];
  const digits = (number < 0n ? -number : number).toString(base);
  return `${number < 0n ? '-' : ''}${isMarked ? mark : ''}${digits}`;
}

/** Half away from zero, however many digits the number has. */
function fixed(number: Decimal, digits: number): string {
  const unit = Decimal.parse(`1e${digits}`) ?? Decimal.ZERO;
  const half = Decimal.parse(number.sign < 0 ? '-0.5' : '0.5') ?? Decimal.ZERO;
  const rounded = number.times(unit).plus(half).truncated().toBigInt();
  const text = String(rounded < 0n ? -rounded : rounded).padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits);
  return `${rounded < 0n ? '-' : ''}${whole}${digits === 0 ? '' : `.${text.slice(-digits)}`}`;
}

/** At least two digits of exponent. */
const exponential = (text: string): string => text.replace(/e([+-])(\d)$/u, 'e$10$2');

function padded(text: string, flags: string, width: number, letter: string): string {
  const isNumber = 'dfFeEgGxXbo'.includes(letter);
  const positive = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  const signed = isNumber && !text.startsWith('-') ? `${positive}${text}` : text;
  if (flags.includes('-')) return signed.padEnd(width);
  if (!flags.includes('0') || !isNumber) return signed.padStart(width);
  const sign = /^[+ -]/u.exec(signed)?.[0] ?? '';
  return sign + signed.slice(sign.length).padStart(width - sign.length, '0');
}
