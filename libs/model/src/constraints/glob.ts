/**
 * Returns a test whether a text matches one of several globs (SC-38). `*` stands for any run of characters, and every
 * other character for itself. Linear in text and pattern: the leftmost match of each part is always the best one, so
 * there is no backtracking.
 */
export function globMatcher(globs: readonly string[]): (text: string) => boolean {
  const parts = globs.map((glob) => glob.split('*'));
  return (text) => parts.some((p) => matches(p, text));
}

function matches(parts: readonly string[], text: string): boolean {
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (parts.length === 1) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
