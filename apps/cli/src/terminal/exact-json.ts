/** A JSON value whose numbers a JavaScript number cannot hold are kept as marked strings. Made and read here only. */
export type ExactJson = null | boolean | number | string | ExactJson[] | { [member: string]: ExactJson };

/** Opens a string that stands for a number. Private use area: no JSON of ours has it. */
const MARK = '\uF8FFn:';
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const MARKED = /"\uF8FFn:(-?\d[\d.eE+-]*)"/g;

/** JSON with every number kept digit for digit (CL-126). Costs two passes over the text. @throws SyntaxError */
export function parseExact(text: string): ExactJson {
  const kept = text.replaceAll(TOKEN, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}"`,
  );
  return JSON.parse(kept) as ExactJson;
}

/** The text of what parseExact read, or of objects made of it; `indent` 0: one line. */
export function formatExact(value: ExactJson, indent = 4): string {
  return JSON.stringify(value, null, indent).replaceAll(MARKED, '$1');
}

/** As plain JavaScript values, integers beyond 2^53 as bigints. */
export function plainOf(value: ExactJson): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? numberOf(value.slice(MARK.length)) : value;
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainOf(member)]));
}

const numberOf = (digits: string): number | bigint => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits));

/** The members of an object; none for anything else. */
export const membersOf = (value: ExactJson | undefined): { [member: string]: ExactJson } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

/** A plain object of ours as JSON; times in nanoseconds are numbers that print as they are. */
export const exactOf = (value: object): ExactJson => parseExact(JSON.stringify(value));
