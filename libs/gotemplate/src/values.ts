/**
 * Go's view of JavaScript values: null and undefined are nil, numbers and bigints one kind of number, arrays lists, and
 * plain objects and Maps maps. Of an object only its own enumerable fields exist, so a template never reaches a prototype.
 */
export type ValueKind = 'nil' | 'bool' | 'number' | 'string' | 'list' | 'map' | 'function';

/** Functions of a template, by name. What they throw becomes the template's error. They may not be asynchronous. */
export type TemplateFunction = (...values: unknown[]) => unknown;
export type TemplateFunctions = Readonly<Record<string, TemplateFunction>>;

export function kindOf(value: unknown): ValueKind {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'number':
    case 'bigint':
      return 'number';
    case 'string':
      return 'string';
    case 'function':
      return 'function';
    case 'object':
      if (value === null) return 'nil';
      return Array.isArray(value) ? 'list' : 'map';
    default:
      return 'nil';
  }
}

export const isNumber = (value: unknown): value is number | bigint => kindOf(value) === 'number';
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
export const isMap = (value: unknown): value is object => kindOf(value) === 'map';
export const isFunction = (value: unknown): value is TemplateFunction => typeof value === 'function';

/** Numbers that Go's 64-bit integers could not hold are none, however whole. */
export const isInteger = (value: number | bigint): boolean =>
  typeof value === 'bigint' || (Number.isInteger(value) && Math.abs(value) < 2 ** 64);

/** Go's name of the type a value would have there. */
export function typeOf(value: unknown): string {
  switch (kindOf(value)) {
    case 'nil':
      return '<nil>';
    case 'bool':
      return 'bool';
    case 'number':
      return isNumber(value) && isInteger(value) ? 'int' : 'float64';
    case 'string':
      return 'string';
    case 'list':
      return '[]interface {}';
    case 'map':
      return 'map[string]interface {}';
    case 'function':
      return 'func';
  }
}

/** In the order of their keys, as Go walks and prints maps. */
export function entriesOf(map: object): [key: string | number | bigint, value: unknown][] {
  const entries: [string | number | bigint, unknown][] = [];
  if (map instanceof Map)
    for (const [key, value] of map) entries.push([isNumber(key) ? key : String(key), value as unknown]);
  else for (const item of Object.entries(map)) entries.push(item);
  return entries.toSorted(([a], [b]) => (a === b ? 0 : orderOf(a, b)));
}

export const sizeOf = (map: object): number => (map instanceof Map ? map.size : Object.keys(map).length);

/** By code point, not by UTF-16 unit; numbers before strings. */
function orderOf(a: string | number | bigint, b: string | number | bigint): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === 'string' || typeof b === 'string') return typeof a === 'string' ? 1 : -1;
  return a < b ? -1 : 1;
}

/** As Go compares strings: by their bytes in UTF-8, which is the order of code points. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  if (at === length) return a.length - b.length;
  const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
  const [leftPair, rightPair] = [isSurrogate(left), isSurrogate(right)];
  return leftPair === rightPair ? left - right : leftPair ? 1 : -1;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** Own fields only. */
export function lookUp(map: object, key: unknown): { readonly found: boolean; readonly value: unknown } {
  if (map instanceof Map) return { found: map.has(key), value: map.get(key) as unknown };
  const name = typeof key === 'string' || isNumber(key) ? String(key) : null;
  if (name === null || !Object.prototype.propertyIsEnumerable.call(map, name))
    return { found: false, value: undefined };
  return { found: true, value: (map as Readonly<Record<string, unknown>>)[name] };
}

/** Whether `if` and `with` take it for true: not the zero of its kind, not empty. */
export function truthOf(value: unknown): boolean {
  if (isList(value)) return value.length > 0;
  if (isMap(value)) return sizeOf(value) > 0;
  if (isNumber(value)) return value != 0;
  return value !== null && value !== undefined && value !== false && value !== '';
}
