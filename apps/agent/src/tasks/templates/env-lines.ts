/** EnvLineError says that a line is neither empty nor `KEY=value`. */
export class EnvLineError extends Error {
  override readonly name = 'EnvLineError';
  constructor(readonly line: number) {
    super(`error parsing env template: line ${line} is no KEY=value`);
  }
}

/**
 * Matches a line up to its value. No pattern here scans the same text repeatedly, because a line may have megabytes.
 */
const KEY = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/** Parses `KEY=value` lines, ignores empty lines and comments, and removes quotes (AG-293). @throws EnvLineError */
export function envLines(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [at, whole] of text.split('\n').entries()) {
    const line = whole.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [begin = '', key] = KEY.exec(line) ?? [];
    if (key === undefined) throw new EnvLineError(at + 1);
    const value = valueOf(line.slice(begin.length).trimStart());
    if (value === null) throw new EnvLineError(at + 1);
    variables[key] = value;
  }
  return variables;
}

/** Returns the value without quotes and comment, or null if a quote is not closed. */
function valueOf(given: string): string | null {
  const quote = given[0];
  if (quote === "'") return /^'([^']*)'\s*(?:#.*)?$/.exec(given)?.[1] ?? null;
  if (quote !== '"') return withoutComment(given);
  const body = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(given)?.[1];
  return body?.replaceAll(/\\(.)/g, (whole, one: string) => ESCAPES[one] ?? whole) ?? null;
}

function withoutComment(given: string): string {
  for (let at = given.indexOf('#', 1); at > 0; at = given.indexOf('#', at + 1))
    if (given.slice(at - 1, at).trim() === '') return given.slice(0, at).trimEnd();
  return given;
}
