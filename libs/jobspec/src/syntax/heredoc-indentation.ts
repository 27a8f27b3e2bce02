/** A piece of a heredoc's text, at most one line. Undefined stands for an interpolation or a directive. */
export type HeredocPiece = string | undefined;

/**
 * Removes the smallest indentation from every line (JS-22). Blank lines do not count. Strip marks have already been
 * applied (JS-24): a line whose line break they removed continues in the next line, which then neither counts nor
 * changes, and a line whose indentation they removed has none.
 */
export function withoutIndentation(pieces: readonly HeredocPiece[]): HeredocPiece[] {
  const starts = startsOfLines(pieces);
  const indentations = starts.map((at) => indentationOf(pieces[at] ?? ''));
  let smallest = Infinity;
  for (const indentation of indentations) if (indentation !== undefined) smallest = Math.min(smallest, indentation);
  const cut = new Set(starts.filter((_, at) => indentations[at] !== undefined));
  return pieces.map((piece, at) => (cut.has(at) ? piece?.slice(smallest) : piece));
}

/** Returns the pieces with which lines start: the first, and each one after a line break. */
function startsOfLines(pieces: readonly HeredocPiece[]): number[] {
  let startsLine = true;
  return [...pieces.keys()].filter((at) => {
    const starts = startsLine;
    startsLine = pieces[at]?.endsWith('\n') ?? false;
    return starts;
  });
}

/** Returns undefined for a blank line. */
function indentationOf(text: string): number | undefined {
  const rest = text.trimStart();
  return rest === '' && text.endsWith('\n') ? undefined : text.length - rest.length;
}
