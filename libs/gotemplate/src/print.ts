import { entriesOf, isInteger, isList, isMap, isNumber } from './values.js';

/** Deeper than this, a value is printed as `...`; also what ends a circle. */
const PRINT_DEPTH = 100;

/** As Go's `%v`: `[a b]`, `map[a:1 b:2]`, `<nil>`. */
export function textOf(value: unknown, depth = 0): string {
  if (depth > PRINT_DEPTH) return '...';
  if (typeof value === 'string') return value;
  if (isNumber(value)) return numberText(value);
  if (isList(value)) return `[${value.map((item) => textOf(item, depth + 1)).join(' ')}]`;
  if (isMap(value)) return mapText(value, (item) => textOf(item, depth + 1));
  if (value === null || value === undefined) return '<nil>';
  return typeof value === 'boolean' ? String(value) : 'func';
}

export function mapText(map: object, each: (value: unknown) => string): string {
  return `map[${entriesOf(map)
    .map(([key, value]) => `${each(key)}:${each(value)}`)
    .join(' ')}]`;
}

/** What an action writes: as `%v`, but nothing at all is `<no value>`. */
export const outputOf = (value: unknown): string =>
  value === null || value === undefined ? '<no value>' : textOf(value);

export function numberText(value: number | bigint): string {
  if (typeof value === 'bigint' || (isInteger(value) && !Object.is(value, -0))) return String(value);
  return floatText(value);
}

/** From this power of ten on, and below 1e-4, Go writes an exponent. */
const EXPONENT_FROM = 6;

/** The shortest text that gives the number back. */
export function floatText(value: number): string {
  const special = specialText(value);
  if (special !== null) return special;
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < EXPONENT_FROM) return plainText(value);
  return `${digits}e${exponentText(exponent)}`;
}

export function specialText(value: number): string | null {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : null;
  return value > 0 ? '+Inf' : '-Inf';
}

/** At least two digits, always with its sign. */
export const exponentText = (exponent: number): string =>
  `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;

/** JavaScript itself turns to an exponent below 1e-6 and from 1e21 on. */
function plainText(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  if (Math.abs(value) >= 1) return BigInt(value).toString();
  const [digits = '', power = '0'] = value.toExponential().split('e');
  return value.toFixed(Math.min(100, digits.replace(/[-.]/g, '').length - 1 - Number(power)));
}

/** Go's `Sprint`: a space between two of which neither is a string. */
export function print(values: readonly unknown[]): string {
  return values.reduce<string>((text, value, at) => {
    const separate = at > 0 && typeof value !== 'string' && typeof values[at - 1] !== 'string';
    return text + (separate ? ' ' : '') + textOf(value);
  }, '');
}

/** Go's `Sprintln`: a space between all, and a new line. */
export const printLine = (values: readonly unknown[]): string => `${values.map((value) => textOf(value)).join(' ')}\n`;
