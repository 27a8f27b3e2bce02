import { exponentText, floatText, mapText, numberText, specialText, textOf } from './print.js';
import { quote } from './quote.js';
import { entriesOf, isInteger, isList, isMap, isNumber, typeOf } from './values.js';

/** Go's own limit of a width or a precision is a million; a template needs less. */
const MAX_WIDTH = 10_000;

interface Format {
  readonly verb: string;
  readonly plus: boolean;
  readonly minus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number;
  readonly precision: number | null;
}

const DIRECTIVE = /%([+\-# 0]*)(\d*)(?:\.(\d*))?([^]?)/gu;

/** Go's `Sprintf`, without argument indexes and `*`. What does not fit is said in the text, as Go does: `%!d(string=x)`. */
export function formatted(template: string, values: readonly unknown[]): string {
  let used = 0;
  const text = template.replaceAll(
    DIRECTIVE,
    (_whole, flags: string, width: string, precision: string | undefined, verb: string) => {
      if (verb === '') return '%!(NOVERB)';
      if (verb === '%') return '%';
      if (Number(width) > MAX_WIDTH || Number(precision ?? 0) > MAX_WIDTH) return '%!(BADWIDTH)';
      if (used >= values.length) return `%!${verb}(MISSING)`;
      return one(values[used++], {
        verb,
        plus: flags.includes('+'),
        minus: flags.includes('-'),
        sharp: flags.includes('#'),
        space: flags.includes(' '),
        zero: flags.includes('0') && !flags.includes('-'),
        width: Number(width),
        precision: precision === undefined ? null : Number(precision),
      });
    },
  );
  const extra = values.slice(used).map((value) => (value == null ? '<nil>' : `${typeOf(value)}=${textOf(value)}`));
  return extra.length > 0 ? `${text}%!(EXTRA ${extra.join(', ')})` : text;
}

function one(value: unknown, format: Format): string {
  if (format.verb === 'T') return padded(typeOf(value), format, false);
  if (value === null || value === undefined) {
    return format.verb === 'v' ? padded('<nil>', format, false) : `%!${format.verb}(<nil>)`;
  }
  if (format.sharp && format.verb === 'v') return padded(goSyntax(value), format, false);
  if (isList(value)) return `[${value.map((item) => one(item, format)).join(' ')}]`;
  if (isMap(value)) return mapText(value, (item) => one(item, format));
  const text = scalar(value, format);
  return text ?? `%!${format.verb}(${typeOf(value)}=${textOf(value)})`;
}

/** Null: the verb does not fit the value. */
function scalar(value: unknown, format: Format): string | null {
  if (format.verb === 'v') {
    return isNumber(value) ? numeric(value, format) : padded(clipped(textOf(value), format), format, false);
  }
  if (typeof value === 'boolean') return format.verb === 't' ? padded(String(value), format, false) : null;
  if (typeof value === 'string') return ofString(value, format);
  return isNumber(value) ? numeric(value, format) : null;
}

function ofString(value: string, format: Format): string | null {
  switch (format.verb) {
    case 's':
      return padded(clipped(value, format), format, false);
    case 'q': {
      const text = clipped(value, format);
      const raw = format.sharp && !/[`\p{Cc}\ufeff]/u.test(text.replaceAll('\t', ''));
      return padded(raw ? `\`${text}\`` : quote(text, '"', format.plus), format, false);
    }
    case 'x':
    case 'X': {
      const bytes = [...new TextEncoder().encode(value)].slice(0, format.precision ?? undefined);
      const digits = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(format.space ? ' ' : '');
      const text = (format.sharp && digits !== '' ? '0x' : '') + digits;
      return padded(format.verb === 'X' ? text.toUpperCase() : text, format, false);
    }
    default:
      return null;
  }
}

const BASES: Readonly<Record<string, readonly [base: number, prefix: string]>> = {
  b: [2, '0b'],
  o: [8, '0'],
  O: [8, '0o'],
  d: [10, ''],
  x: [16, '0x'],
  X: [16, '0X'],
};

function numeric(value: number | bigint, format: Format): string | null {
  if (isInteger(value)) {
    const text = integer(BigInt(value), format);
    if (text !== null) return text;
  }
  return float(Number(value), format);
}

function integer(value: bigint, format: Format): string | null {
  const { verb } = format;
  if (verb === 'c' || verb === 'q' || verb === 'U') return character(Number(value), format);
  const base = BASES[verb === 'v' ? 'd' : verb];
  if (!base) return null;
  const magnitude = value < 0n ? -value : value;
  let digits = magnitude.toString(base[0]);
  if (verb === 'X') digits = digits.toUpperCase();
  if (format.precision !== null)
    digits = format.precision === 0 && value === 0n ? '' : digits.padStart(format.precision, '0');
  const prefix = format.sharp || verb === 'O' ? base[1] : '';
  const filled = format.precision === null ? format : { ...format, zero: false };
  return padded(signOf(value < 0n, format) + prefix + digits, filled, true);
}

function character(point: number, format: Format): string {
  const valid = point >= 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
  const text = valid ? String.fromCodePoint(point) : '\ufffd';
  if (format.verb === 'U') {
    const digits = point.toString(16).toUpperCase().padStart(4, '0');
    return padded(`U+${digits}${format.sharp ? ` '${text}'` : ''}`, format, false);
  }
  return padded(format.verb === 'q' ? quote(text, "'", format.plus) : text, format, false);
}

function float(value: number, format: Format): string | null {
  if (!'eEfFgGv'.includes(format.verb)) return null;
  const special = specialText(Math.abs(value));
  const magnitude = special === null ? digitsOf(Math.abs(value), format) : special.replace('+', '');
  const negative = value < 0 || Object.is(value, -0);
  return padded(signOf(negative, format) + magnitude, format, special === null);
}

function digitsOf(value: number, { verb, precision }: Format): string {
  const exponential = (text: string): string =>
    text.replace(/e([+-]\d+)$/, (_, power: string) => `e${exponentText(Number(power))}`);
  switch (verb) {
    case 'f':
    case 'F':
      return fixed(value, precision ?? 6);
    case 'e':
      return exponential(value.toExponential(Math.min(precision ?? 6, 100)));
    case 'E':
      return exponential(value.toExponential(Math.min(precision ?? 6, 100))).toUpperCase();
    case 'v':
      return precision === null ? numberText(value) : general(value, precision, exponential);
    default: {
      const text = precision === null ? floatText(value) : general(value, precision, exponential);
      return verb === 'G' ? text.toUpperCase() : text;
    }
  }
}

/** `toFixed` itself gives up at 1e21 and beyond 100 places. */
function fixed(value: number, places: number): string {
  if (value >= 1e21) return BigInt(value).toString() + (places > 0 ? `.${'0'.repeat(places)}` : '');
  return places <= 100 ? value.toFixed(places) : value.toFixed(100) + '0'.repeat(places - 100);
}

function general(value: number, precision: number, exponential: (text: string) => string): string {
  const digits = Math.min(Math.max(precision, 1), 100);
  const [mantissa = '', power = '0'] = value.toExponential(digits - 1).split('e');
  const exponent = Number(power);
  const short = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (exponent < -4 || exponent >= digits) return exponential(`${short(mantissa)}e${power}`);
  return short(value.toFixed(Math.min(100, Math.max(0, digits - 1 - exponent))));
}

function signOf(negative: boolean, { plus, space }: Format): string {
  if (negative) return '-';
  return plus ? '+' : space ? ' ' : '';
}

const clipped = (text: string, { precision }: Format): string =>
  precision === null ? text : Array.from(text).slice(0, precision).join('');

/** Zeros only fill numbers, between their sign and their digits. */
function padded(text: string, { width, minus, zero }: Format, isNumeric: boolean): string {
  const missing = width - Array.from(text).length;
  if (missing <= 0) return text;
  if (minus) return text + ' '.repeat(missing);
  if (!zero) return ' '.repeat(missing) + text;
  if (!isNumeric) return (/^[+-]?Inf$|^NaN$/.test(text) ? ' ' : '0').repeat(missing) + text;
  const sign = /^[+\- ]/.exec(text)?.[0] ?? '';
  return sign + '0'.repeat(missing) + text.slice(sign.length);
}

/** `%#v`. */
function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return quote(value);
  if (isList(value)) return `${typeOf(value)}{${value.map(goSyntax).join(', ')}}`;
  if (isMap(value)) {
    const entries = entriesOf(value).map(([key, item]) => `${goSyntax(key)}:${goSyntax(item)}`);
    return `${typeOf(value)}{${entries.join(', ')}}`;
  }
  return textOf(value);
}
