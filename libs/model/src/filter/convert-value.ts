import { FilterEvaluationError } from './filter-error.js';

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);
const INTEGER = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9]\d*)$/;
const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Converts a typed value to the kind of the value that it is compared with (API-69). @throws FilterEvaluationError */
export function convertTo(kind: 'string' | 'bool' | 'int' | 'float', text: string): string | boolean | number {
  switch (kind) {
    case 'string':
      return text;
    case 'bool':
      if (TRUE.has(text)) return true;
      return FALSE.has(text) ? false : notConverted('ParseBool', text);
    case 'int':
      return integerOf(text);
    case 'float':
      return FLOAT.test(text) ? Number(text) : notConverted('ParseFloat', text);
  }
}

/** Parses an integer. Integers above 2^53 are rounded like the stored ones, so equal texts stay equal. */
function integerOf(text: string): number {
  const match = INTEGER.exec(text);
  if (!match) return notConverted('ParseInt', text);
  const digits = match[2] ?? '';
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = Number(BigInt(octal));
  return match[1] === '-' ? -value : value;
}

function notConverted(by: string, text: string): never {
  throw new FilterEvaluationError(
    `error getting match value in expression: strconv.${by}: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}
