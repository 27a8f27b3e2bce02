import { Decimal } from '../evaluation/decimal.js';
import { ConversionError } from '../evaluation/type.js';
import { Mapping, Sequence, type Value } from '../evaluation/value.js';

const ESCAPED: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/**
 * Formats JSON without spaces, with characters escaped that HTML would interpret, and with all digits of every number
 * (JS-35). @throws ConversionError for an infinite number
 */
export function goJson(value: Value): string {
  if (value instanceof Decimal) return numberText(value);
  if (value instanceof Sequence) return `[${value.items.map(goJson).join(',')}]`;
  if (value instanceof Mapping)
    return `{${[...value.entries].map(([key, item]) => `${goJson(key)}:${goJson(item)}`).join(',')}}`;
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/gu, (character) => ESCAPED[character] ?? character);
}

function numberText(value: Decimal): string {
  if (value.isInfinite) throw new ConversionError('an infinite number cannot be written as JSON');
  return value.toString();
}
