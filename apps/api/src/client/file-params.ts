import { badRequest } from '../http/api-error.js';
import { param, type QueryString } from '../http/query-string.js';

/** Reads a boolean parameter. @throws Refusal invalid (API-197) */
export function flagParam(query: QueryString, name: string, otherwise: boolean): boolean {
  const value = param(query, name);
  if (value === undefined || value === '') return otherwise;
  if (/^(1|t|T|TRUE|true|True)$/.test(value)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(value)) return false;
  throw badRequest(`failed to parse ${name} field to boolean: ${value}`);
}

/** Reads a number of bytes; `otherwise` is the default. @throws Refusal invalid */
export function bytesParam(query: QueryString, name: string, otherwise: number | undefined): number {
  const value = param(query, name);
  if ((value === undefined || value === '') && otherwise !== undefined) return otherwise;
  if (value === undefined || !/^-?\d{1,15}$/.test(value)) throw badRequest(`error parsing ${name}: ${value ?? ''}`);
  return Number(value);
}

/** @throws Refusal invalid */
export function originParam(query: QueryString): 'start' | 'end' {
  const origin = param(query, 'origin') || 'start';
  if (origin !== 'start' && origin !== 'end') throw badRequest('origin must be start or end');
  return origin;
}
