import type { Json } from '../decoding/json.js';

const ESCAPED: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** JSON without spaces, with the characters escaped that a page of HTML would take for its own. */
export function goJson(json: Json): string {
  return JSON.stringify(json).replaceAll(/[<>&\u2028\u2029]/gu, (character) => ESCAPED[character] ?? character);
}
