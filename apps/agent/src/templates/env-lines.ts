/** A line that is neither empty nor `KEY=value`. */
export class EnvLineError extends Error {
  override readonly name = 'EnvLineError';
  constructor(readonly line: number) {
    super(`error parsing env template: line ${line} is no KEY=value`);
  }
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*?)\s*$/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/** AG-293: `KEY=value` lines; empty ones and comments are nothing. Quotes are taken off. @throws EnvLineError */
export function envLines(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const [, key, given] = LINE.exec(line) ?? [];
    if (key === undefined || given === undefined) throw new EnvLineError(at + 1);
    const value = valueOf(given);
    if (value === null) throw new EnvLineError(at + 1);
    variables[key] = value;
  }
  return variables;
}

/** null: a quote is not closed. */
function valueOf(given: string): string | null {
  const quote = given[0];
  if (quote === "'") return /^'([^']*)'\s*(?:#.*)?$/.exec(given)?.[1] ?? null;
  if (quote !== '"') return given.replace(/\s+#.*$/, '');
  const body = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(given)?.[1];
  return body?.replaceAll(/\\(.)/g, (whole, one: string) => ESCAPES[one] ?? whole) ?? null;
}
