import { Decimal } from '../evaluation/decimal.js';
import type { Value } from '../evaluation/value.js';
import { FunctionError } from './function-table.js';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const TRUE = words('y Y yes Yes YES true True TRUE on On ON');
const FALSE = words('n N no No NO false False FALSE off Off OFF');
const NULL = new Set(['', '~', 'null', 'Null', 'NULL']);
const INFINITE = /^([+-]?)\.(?:inf|Inf|INF)$/u;
const NOT_A_NUMBER = /^\.(?:nan|NaN|NAN)$/u;
const DECIMAL = /^[+-]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?$/u;
const BASED = /^0(?:o[0-7]+|x[0-9a-fA-F]+)$/u;
const TIME =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d\d):(\d\d)(?:\.\d*)?[ \t]*(Z|[+-]\d{1,2}(?::\d\d)?)?)?$/u;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u;

/** Decodes a scalar without quotes and tag. @throws FunctionError for NaN */
export function plainScalar(text: string): Value {
  if (NULL.has(text)) return null;
  return booleanOf(text) ?? numberOf(text) ?? timeOf(text) ?? text;
}

/** Decodes a scalar with a standard tag of YAML, or returns undefined for any other tag. @throws FunctionError */
export function taggedScalar(text: string, tag: string, isPlain: boolean): Value | undefined {
  const checked = (value: Value | undefined): Value => {
    if (value !== undefined) return value;
    throw new FunctionError(`cannot parse ${JSON.stringify(text)} as tag:yaml.org,2002:${tag}`);
  };
  switch (tag) {
    case 'str':
      return text;
    case 'null':
      return null;
    case 'bool':
      return isPlain ? checked(booleanOf(text) ?? numberOf(text)) : text;
    case 'int':
    case 'float':
      return isPlain ? checked(numberOf(text)) : text;
    case 'timestamp':
      return checked(timeOf(text));
    case 'binary':
      return checked(BASE64.test(text) ? text : undefined);
    default:
      return undefined;
  }
}

function booleanOf(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

function numberOf(text: string): Decimal | undefined {
  if (NOT_A_NUMBER.test(text)) throw new FunctionError('floating point NaN is not supported');
  const [infinite, sign] = INFINITE.exec(text) ?? [];
  if (infinite !== undefined) return Decimal.ofFloat(sign === '-' ? -Infinity : Infinity);
  if (BASED.test(text)) return Decimal.of(BigInt(text));
  if (!DECIMAL.test(text)) return undefined;
  return Decimal.parse(text.replace(/^([+-]?)\./u, '$10.').replace(/\.(?=$|[eE])/u, ''));
}

/** Formats as RFC 3339 without fractions of a second. Without an offset, the time is in UTC. */
function timeOf(text: string): string | undefined {
  const found = TIME.exec(text);
  if (!found) return undefined;
  const [, year = '', month = '', day = '', hour = '0', minute = '00', second = '00', offset = 'Z'] = found;
  const two = (digits: string): string => digits.padStart(2, '0');
  const date = `${year}-${two(month)}-${two(day)}`;
  const time = `${two(hour)}:${minute}:${second}`;
  if (Number.isNaN(Date.parse(`${date}T${time}Z`)) || new Date(`${date}T00:00:00Z`).toISOString().slice(0, 10) !== date)
    return undefined;
  const [hours = '', minutes = '00'] = offset.slice(1).split(':');
  return `${date}T${time}${offset === 'Z' ? 'Z' : `${offset.slice(0, 1)}${two(hours)}:${minutes}`}`;
}
