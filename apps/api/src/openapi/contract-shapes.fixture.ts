/** The members that the contract writes as `+QM`. */
const QUERY_META = ['Index', 'LastContact', 'KnownLeader', 'NextToken'];
const OPENING = '{[(';
const CLOSING = '}])';

/**
 * Returns the names of the outermost members that the contract's list of shapes (http-api-shapes.md) gives each object:
 * `**Name**` followed by a table, by `{…}`, or by `(not OE): …`. Types and marks are omitted.
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

/** Returns the members of a row. A member that is only accepted in requests does not belong to an answer. */
const membersOfRow = (row: string): string[] =>
  row.includes('input-only') ? [] : namesIn((row.split('|')[1] ?? '').split(','));

/** Returns the parts between commas and semicolons, up to the bracket that closes the one opened before. */
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

/** Returns names. `A / B only with …` has two. */
const namesIn = (parts: readonly string[]): string[] =>
  parts.flatMap((part) => {
    if (part.trim() === '+QM') return QUERY_META;
    return [...(/^\s*(?:and deprecated always-present fields )?(\w+)(?: \/ (\w+))?/.exec(part) ?? [])]
      .slice(1)
      .filter(Boolean);
  });
