/** Members that the contract writes as `+QM`. */
const QUERY_META = ['Index', 'LastContact', 'KnownLeader', 'NextToken'];
const OPENING = '{[(';
const CLOSING = '}])';

/**
 * The names of members that the contract's list of shapes (http-api-shapes.md) gives each object, of the outermost level:
 * `**Name**` followed by a table, by `{…}`, or by `(not OE): …`. Types and marks are left out.
 */
export function contractShapes(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const shapes = new Map<string, ReadonlySet<string>>();
  for (const { 1: name = '', index, 0: heading } of text.matchAll(/\*\*(\w+)\*\*/g)) {
    const members = membersBehind(text.slice(index + heading.length));
    if (members.length > 0 && !shapes.has(name)) shapes.set(name, new Set(members));
  }
  return shapes;
}

function membersBehind(rest: string): string[] {
  const table = /^( \([^\n]*\))?\s*\n\n?(\|[^]*?)\n\n/.exec(rest)?.[2];
  if (table !== undefined) return table.split('\n').slice(2).flatMap(membersOfRow);
  const braced = /^ (?:\([^)]*\) )?\{/.exec(rest);
  if (braced) return namesIn(outermost(rest.slice(braced[0].length)));
  const listed = /^ \([^)]*\): ([^\n]*)\./.exec(rest)?.[1];
  return listed === undefined ? [] : namesIn(outermost(listed));
}

/** One that is only taken, never answered, is none of an answer's. */
const membersOfRow = (row: string): string[] =>
  row.includes('input-only') ? [] : namesIn((row.split('|')[1] ?? '').split(','));

/** The parts between commas and semicolons, as far as the bracket that closes what was opened before. */
function outermost(text: string): string[] {
  const parts: string[] = [];
  let [depth, part] = [0, ''];
  let quoted = false;
  for (const char of text) {
    if (char === '`') quoted = !quoted;
    if (!quoted && OPENING.includes(char)) depth += 1;
    if (!quoted && CLOSING.includes(char)) depth -= 1;
    if (depth < 0) break;
    if (depth === 0 && (char === ',' || char === ';')) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  return [...parts, part];
}

/** `A / B only with …` names two. */
const namesIn = (parts: readonly string[]): string[] =>
  parts.flatMap((part) => {
    if (part.trim() === '+QM') return QUERY_META;
    return [...(/^\s*(?:and deprecated always-present fields )?(\w+)(?: \/ (\w+))?/.exec(part) ?? [])]
      .slice(1)
      .filter(Boolean);
  });
