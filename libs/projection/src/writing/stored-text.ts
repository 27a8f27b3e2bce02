/**
 * PostgreSQL's text cannot hold U+0000 or half a surrogate pair, nor can its json operators give them; JSON can hold both,
 * and users send both. So in what is
 * stored such a code unit is written as U+E000 and four hex digits, and U+E000 itself likewise; everything else is
 * stored as it is. Reading turns it back: the state loaded from Postgres equals the state written.
 *
 * Cost: one scan of the text; nothing more for text without these characters.
 */
const MARK = '\ue000';
/** In JSON text: an escaped backslash (left alone), an escape that PostgreSQL refuses, or the mark itself. */
const UNSTORABLE = /\\\\|\\u(0000|d[89a-f][0-9a-f]{2})|\ue000/g;
const STORED = /\ue000([0-9a-f]{4})/g;
// oxlint-disable-next-line no-control-regex
const PLAIN_UNSTORABLE = /\u0000|\ue000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** What might be in need of it, for a quick look. */
// oxlint-disable-next-line no-control-regex
const SUSPECT = /[\u0000\ud800-\udfff\ue000]/;

const hex4 = (char: string): string => char.charCodeAt(0).toString(16).padStart(4, '0');

/** JSON of a value as it can be stored in a json column. */
export function storedJson(value: unknown): string {
  return storable(JSON.stringify(value));
}

/** The same, of JSON. */
export function storable(text: string): string {
  if (!text.includes('\\u') && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (found, unit: string | undefined) => {
    if (found === MARK) return `${MARK}e000`;
    return unit === undefined ? found : MARK + unit;
  });
}

/** The value of a json column's text. */
export function parseStored(text: string): unknown {
  return JSON.parse(text.includes(MARK) ? text.replace(STORED, '\\u$1') : text);
}

/** A string as a text column has it: for query parameters. */
export function storedText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(PLAIN_UNSTORABLE, (char) => MARK + hex4(char));
}

/** The string of a text column. */
export function plainText(stored: string): string {
  return stored.includes(MARK)
    ? stored.replace(STORED, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
    : stored;
}
