/**
 * A JSON value. Numbers that a JavaScript number cannot hold are marked strings, which only this module creates and
 * reads.
 */
export type ExactJson = null | boolean | number | string | ExactJson[] | { [member: string]: ExactJson };

/** Start of a string that stands for a number. The character is in a private use area, so no other JSON contains it. */
const MARK = '\uF8FFn:';
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const MARKED = /"\uF8FFn:(-?\d[\d.eE+-]*)"/g;

/** Parses JSON and keeps every number digit for digit (CL-126). Cost: two passes over the text. @throws SyntaxError */
export function parseExact(text: string): ExactJson {
  const kept = text.replaceAll(TOKEN, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}"`,
  );
  return JSON.parse(kept) as ExactJson;
}

/** Formats a value of parseExact, or objects built from it. `indent` 0 gives one line. */
export function formatExact(value: ExactJson, indent = 4): string {
  return JSON.stringify(value, null, indent).replaceAll(MARKED, '$1');
}

/** Converts to plain JavaScript values, with integers beyond 2^53 as bigints. */
export function plainOf(value: ExactJson): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? numberOf(value.slice(MARK.length)) : value;
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainOf(member)]));
}

const numberOf = (digits: string): number | bigint => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits));

/** Returns the members of an object, and none for any other value. */
export const membersOf = (value: ExactJson | undefined): { [member: string]: ExactJson } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

/** Converts a plain object to a JSON value. Times in nanoseconds are numbers that print unchanged. */
export const exactOf = (value: object): ExactJson => parseExact(JSON.stringify(value));
