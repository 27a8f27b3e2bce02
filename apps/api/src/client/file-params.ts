import { param, type QueryString } from '../http/query-string.js';

/** A parameter that says yes or no. @throws what `fail` makes of the text (API-197: 400 on logs, 500 on other files) */
export function flagParam(
  query: QueryString,
  name: string,
  otherwise: boolean,
  fail: (text: string) => Error,
): boolean {
  const value = param(query, name);
  if (value === undefined || value === '') return otherwise;
  if (/^(1|t|T|TRUE|true|True)$/.test(value)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(value)) return false;
  throw fail(`failed to parse ${name} field to boolean: ${value}`);
}

/** Bytes, `otherwise` when absent. @throws what `fail` makes of the text */
export function bytesParam(
  query: QueryString,
  name: string,
  otherwise: number | undefined,
  fail: (text: string) => Error,
): number {
  const value = param(query, name);
  if ((value === undefined || value === '') && otherwise !== undefined) return otherwise;
  if (value === undefined || !/^-?\d{1,15}$/.test(value)) throw fail(`error parsing ${name}: ${value ?? ''}`);
  return Number(value);
}

/** @throws what `fail` makes of the text */
export function originParam(query: QueryString, fail: (text: string) => Error): 'start' | 'end' {
  const origin = param(query, 'origin') || 'start';
  if (origin !== 'start' && origin !== 'end') throw fail('origin must be start or end');
  return origin;
}
