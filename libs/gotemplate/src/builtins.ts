import { escapeHtml, escapeJs, escapeQuery } from './escape.js';
import { outputOf, print, printLine } from './print.js';
import { formatted } from './printf.js';
import {
  compareText,
  isInteger,
  isList,
  isMap,
  isNumber,
  kindOf,
  lookUp,
  sizeOf,
  type TemplateFunctions,
  truthOf,
  typeOf,
} from './values.js';

/** A function refused what it was given. */
export class TemplateFunctionError extends Error {
  override readonly name = 'TemplateFunctionError';
}

const refuse = (reason: string): never => {
  throw new TemplateFunctionError(reason);
};

/** Go's own functions but `and`, `or` and `call`, which the executor does itself. */
export const BUILTINS: TemplateFunctions = {
  not: (...values) => !truthOf(only('not', values)),
  eq: (first, ...others) => {
    if (others.length === 0) refuse('missing argument for comparison');
    return others.some((other) => areEqual(first, other));
  },
  ne: (a, b) => !areEqual(a, b),
  lt: (a, b) => orderOf(a, b) < 0,
  le: (a, b) => orderOf(a, b) <= 0,
  gt: (a, b) => orderOf(a, b) > 0,
  ge: (a, b) => orderOf(a, b) >= 0,
  len: (...values) => lengthOf(only('len', values)),
  index: (value, ...keys) => keys.reduce<unknown>(indexed, value),
  slice: sliced,
  print: (...values) => print(values),
  println: (...values) => printLine(values),
  printf: (format, ...values) =>
    typeof format === 'string' ? formatted(format, values) : refuse('printf needs a format, a string'),
  html: (...values) => escapeHtml(shown(values)),
  js: (...values) => escapeJs(shown(values)),
  urlquery: (...values) => escapeQuery(shown(values)),
};

/** What the escaping functions take: a value as an action writes it, several as `print` does. */
const shown = (values: readonly unknown[]): string => (values.length === 1 ? outputOf(values[0]) : print(values));

function only(name: string, values: readonly unknown[]): unknown {
  if (values.length !== 1) refuse(`wrong number of args for ${name}: want 1 got ${values.length}`);
  return values[0];
}

function areEqual(a: unknown, b: unknown): boolean {
  const [left, right] = [kindOf(a), kindOf(b)];
  if (left === 'nil' || right === 'nil') return left === right;
  if (left !== right) return refuse(incompatible(a, b));
  if (left === 'list' || left === 'map' || left === 'function') return refuse(`non-comparable type ${typeOf(a)}`);
  // A number may be a bigint, which is never identical to one that is not.
  return isNumber(a) ? a == b : a === b;
}

const incompatible = (a: unknown, b: unknown): string =>
  `incompatible types for comparison: ${typeOf(a)} and ${typeOf(b)}`;

function orderOf(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : a == b ? 0 : Number.NaN;
  return refuse(kindOf(a) === kindOf(b) ? 'invalid type for comparison' : incompatible(a, b));
}

/** Strings count in bytes of UTF-8, as everywhere in Go. */
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return bytesOf(value).length;
  if (isList(value)) return value.length;
  if (isMap(value)) return sizeOf(value);
  return refuse(value == null ? 'len of nil pointer' : `len of type ${typeOf(value)}`);
}

function indexed(value: unknown, key: unknown): unknown {
  if (value === null || value === undefined) return refuse('index of untyped nil');
  if (isList(value)) return value[position(key, value.length - 1)];
  if (typeof value === 'string') {
    const bytes = bytesOf(value);
    return bytes[position(key, bytes.length - 1)];
  }
  if (isMap(value)) return lookUp(value, key).value;
  return refuse(`can't index item of type ${typeOf(value)}`);
}

function position(key: unknown, highest: number): number {
  if (!isNumber(key) || !isInteger(key)) return refuse(`cannot index slice/array with type ${typeOf(key)}`);
  const at = Number(key);
  return at < 0 || at > highest ? refuse(`index out of range: ${at}`) : at;
}

function sliced(value: unknown, ...bounds: unknown[]): unknown {
  if (bounds.length > 3) refuse(`too many slice indexes: ${bounds.length}`);
  if (typeof value === 'string') {
    if (bounds.length === 3) refuse('cannot 3-index slice a string');
    const bytes = bytesOf(value);
    return new TextDecoder().decode(bytes.subarray(...range(bounds, bytes.length)));
  }
  if (isList(value)) return value.slice(...range(bounds, value.length));
  return refuse(value == null ? 'slice of untyped nil' : `can't slice item of type ${typeOf(value)}`);
}

/** The third bound of a list is its capacity, which only has to be in order. */
function range(bounds: readonly unknown[], length: number): [start: number, end: number] {
  const [start = 0, end = length, capacity = length] = bounds.map((bound) => position(bound, length));
  if (start > end) refuse(`invalid slice index: ${start} > ${end}`);
  if (end > capacity) refuse(`invalid slice index: ${end} > ${capacity}`);
  return [start, end];
}
