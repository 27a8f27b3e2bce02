import { jsonOf } from '../decoding/json.js';
import { Decimal } from '../evaluation/decimal.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { ConversionError, toBoolean, toNumber, toText } from '../evaluation/type.js';
import { list, Sequence, type Value } from '../evaluation/value.js';
import { goJson } from './go-json.js';
import { charactersOf } from '../characters.js';
import { FunctionError } from './function-table.js';

const VERB = /%(?:%|([-0+ ]*)(\d*)(?:\.(\d+))?([a-zA-Z]))/gu;
/** Widths and precisions beyond this are no formatting any more. */
const MAX_WIDTH = 1000;

/** `format` (jobspec.md §7). @throws FunctionError */
export function formatted(format: string, args: readonly Value[]): string {
  let used = 0;
  const text = format.replaceAll(
    VERB,
    (verb: string, flags: string | undefined, width: string, precision: string | undefined, letter: string) => {
      if (verb === '%%') return '%';
      const at = used++;
      const value = args[at];
      if (value === undefined)
        throw new FunctionError(`not enough arguments for "${verb}": need index ${at} but have ${args.length} total`);
      const digits = precision === undefined ? undefined : bounded(Number(precision));
      return padded(converted(letter, value, digits), flags ?? '', bounded(Number(width)), letter);
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

function converted(letter: string, value: Value, precision: number | undefined): string {
  try {
    switch (letter) {
      case 's': {
        const text = toText(value);
        return precision === undefined ? text : charactersOf(text).slice(0, precision).join('');
      }
      case 'q':
        return JSON.stringify(toText(value));
      case 'v':
        return value === null || (typeof value === 'object' && !(value instanceof Decimal))
          ? goJson(jsonOf(value))
          : toText(value);
      case 't':
        return String(toBoolean(value));
      case 'd':
        return String(toNumber(value).truncated());
      case 'x':
      case 'b':
      case 'o':
        return toNumber(value).truncated().toBigInt().toString({ x: 16, b: 2, o: 8 }[letter]);
      case 'f':
        return fixed(toNumber(value), precision ?? 6);
      case 'e':
        return exponential(
          toNumber(value)
            .toNumber()
            .toExponential(precision ?? 6),
        );
      case 'g':
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
  const isNumber = 'dfegxbo'.includes(letter);
  const signed = isNumber && flags.includes('+') && !text.startsWith('-') ? `+${text}` : text;
  if (flags.includes('-')) return signed.padEnd(width);
  if (!flags.includes('0') || !isNumber) return signed.padStart(width);
  const sign = /^[+-]/u.exec(signed)?.[0] ?? '';
  return sign + signed.slice(sign.length).padStart(width - sign.length, '0');
}
