/**
 * PostgreSQL's text cannot contain U+0000 or half a surrogate pair, and its json operators cannot return them. JSON can
 * contain both, and users send both. So such a code unit is stored as U+E000 and four hex digits, and so is U+E000
 * itself. All other text is stored unchanged. Reading reverses this, so the state loaded from PostgreSQL equals the
 * written one.
 *
 * Cost: one scan of the text, and nothing more without these characters.
 */
const MARK = '\ue000';
/** Matches in JSON: an escaped backslash (kept), an escape that PostgreSQL refuses, or the mark itself. */
const UNSTORABLE = /\\\\|\\u(0000|d[89a-f][0-9a-f]{2})|\ue000/g;
const STORED = /\ue000([0-9a-f]{4})/g;
// oxlint-disable-next-line no-control-regex
const PLAIN_UNSTORABLE = /\u0000|\ue000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Characters that may need a mark, for a quick test. */
// oxlint-disable-next-line no-control-regex
const SUSPECT = /[\u0000\ud800-\udfff\ue000]/;

const hex4 = (char: string): string => char.charCodeAt(0).toString(16).padStart(4, '0');

/** Returns the JSON of a value for a json column. */
export function storedJson(value: unknown): string {
  return storable(JSON.stringify(value));
}

/** Returns JSON for a json column. */
export function storable(text: string): string {
  if (!text.includes('\\u') && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (found, unit: string | undefined) => {
    if (found === MARK) return `${MARK}e000`;
    return unit === undefined ? found : MARK + unit;
  });
}

/** Parses the text of a json column. */
export function parseStored(text: string): unknown {
  return JSON.parse(text.includes(MARK) ? text.replace(STORED, '\\u$1') : text);
}

/** Returns a string for a text column, as a query parameter. */
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
