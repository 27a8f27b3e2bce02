import { NS_PER_MS, parseDuration } from '@waybill/model';
import { badRequest } from './api-error.js';

export type QueryString = Readonly<Record<string, string | string[] | undefined>>;

/** The longest wait of a blocking query, in milliseconds. It is the default too (API-48). */
export const MAX_WAIT_MS = 300_000;

/** Returns the first value of a parameter, or undefined if it is absent. */
export function param(query: QueryString, name: string): string | undefined {
  const value = query[name];
  return Array.isArray(value) ? value[0] : value;
}

export const params = (query: QueryString, name: string): string[] => {
  const value = query[name];
  return value === undefined ? [] : Array.isArray(value) ? value : [value];
};

/**
 * Returns the namespace of a request, by default `default`. `*` stands for all where the endpoint allows it (API-44).
 */
export const namespaceOf = (query: QueryString, fallback = 'default'): string => param(query, 'namespace') || fallback;

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/**
 * Reads a boolean parameter. The result is undefined if it is absent, bare or empty (API-73).
 * @throws the error that `fail` makes for any other value; by default Refusal invalid
 */
export function boolParam(
  query: QueryString,
  name: string,
  fail: (text: string) => Error = badRequest,
): boolean | undefined {
  const value = param(query, name);
  if (value === undefined || value === '') return undefined;
  if (TRUE.has(value)) return true;
  if (FALSE.has(value)) return false;
  throw fail(
    `Failed to parse value of ${JSON.stringify(name)} (${value}) as a bool: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
  );
}

/**
 * Says whether a boolean parameter is given with a value other than false. A value that cannot be read counts as given.
 */
export function isGiven(query: QueryString, name: string): boolean {
  const value = param(query, name);
  return value !== undefined && value !== '' && !FALSE.has(value);
}

/** Says whether `stale` is set; it may be bare (API-57). */
export function staleParam(query: QueryString): boolean {
  const value = param(query, 'stale');
  if (value === undefined) return false;
  if (value === '' || TRUE.has(value)) return true;
  if (FALSE.has(value)) return false;
  throw badRequest('Expect `true` or `false` for `stale` query string parameter');
}

const LARGEST_INDEX = 2n ** 64n - 1n;

/** Returns the index of a blocking query (API-47). It is 0 if the query does not block. */
export function indexParam(query: QueryString): number {
  const value = param(query, 'index');
  if (value === undefined || value === '') return 0;
  if (!/^\d{1,20}$/.test(value) || BigInt(value) > LARGEST_INDEX) throw badRequest('Invalid index');
  return Number(value);
}

/** Returns the longest wait of a blocking query in milliseconds (API-48). */
export function waitParam(query: QueryString): number {
  const value = param(query, 'wait');
  if (value === undefined || value === '') return MAX_WAIT_MS;
  const ns = parseDuration(value);
  if (ns === undefined) throw badRequest('Invalid wait time');
  return ns <= 0 ? MAX_WAIT_MS : Math.min(ns / NS_PER_MS, MAX_WAIT_MS);
}

/** Returns the size of a page (API-62); 0 stands for everything on one page. */
export function perPageParam(query: QueryString): number {
  const value = param(query, 'per_page');
  if (value === undefined || value === '') return 0;
  if (!/^-?\d{1,9}$/.test(value)) throw badRequest('Expect a number for `per_page` query string parameter');
  return Math.max(0, Number(value));
}

/** The digits between the hyphens of a UUID. */
const UUID_PARTS = /^(.{8})(.{1,4})?(.{1,4})?(.{1,4})?(.{1,12})?$/;

/**
 * Returns the prefix of a UUID in lower case, with the hyphens that clients may leave out (API-60, API-61, DP-1702).
 * The result is undefined if it is absent. @throws Refusal invalid
 */
export function uuidPrefixParam(query: QueryString): string | undefined {
  const prefix = param(query, 'prefix')?.toLowerCase();
  if (prefix === undefined || prefix === '') return undefined;
  const digits = prefix.replaceAll('-', '');
  if (!/^[0-9a-f]*$/.test(digits) || prefix.length > 36 || prefix.length - digits.length > 4)
    throw badRequest(`invalid UUID prefix ${JSON.stringify(prefix)}`);
  if (digits.length % 2 === 1) throw badRequest('Input (without hyphens) must be even length');
  return hyphenated(digits);
}

/**
 * Returns the part of a search text that is a UUID prefix of even length (API-250). The result is undefined if the text
 * is no prefix.
 */
export function uuidPrefixOf(text: string): string | undefined {
  const digits = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{0,32}$/.test(digits)) return undefined;
  return hyphenated(digits.slice(0, digits.length - (digits.length % 2)));
}

function hyphenated(digits: string): string {
  const parts = UUID_PARTS.exec(digits)
    ?.slice(1)
    .filter((part) => part !== undefined) ?? [digits];
  return parts.join('-');
}

/** Returns the full ID of an object in lower case, for reads by ID (API-41). @throws Refusal invalid */
export function fullUuid(id: string, lookup: string): string {
  if (id.length !== 36) throw badRequest(`${lookup}: index error: UUID must be 36 characters`);
  return id.toLowerCase();
}
