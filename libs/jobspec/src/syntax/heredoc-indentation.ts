/** The text of a heredoc in order, at most a line each; undefined stands for an interpolation or a directive. */
export type HeredocPiece = string | undefined;

/**
 * JS-22: every line without the smallest indentation of all. Blank lines do not count. The strip marks have acted before
 * (JS-24), so a line whose line break they took goes on in the next one, which then neither counts nor changes, and a
 * line whose indentation they took counts as one without.
 */
export function withoutIndentation(pieces: readonly HeredocPiece[]): HeredocPiece[] {
  const starts = startsOfLines(pieces);
  const indentations = starts.map((at) => indentationOf(pieces[at] ?? ''));
  const smallest = Math.min(...indentations.filter((one) => one !== undefined));
  const cut = new Set(starts.filter((_, at) => indentations[at] !== undefined));
  return pieces.map((piece, at) => (cut.has(at) ? piece?.slice(smallest) : piece));
}

/** The pieces that a line begins with: the first, and each one behind a line break. */
function startsOfLines(pieces: readonly HeredocPiece[]): number[] {
  let startsLine = true;
  return [...pieces.keys()].filter((at) => {
    const starts = startsLine;
    startsLine = pieces[at]?.endsWith('\n') ?? false;
    return starts;
  });
}

/** Undefined of a blank line. */
function indentationOf(text: string): number | undefined {
  const rest = text.trimStart();
  return rest === '' && text.endsWith('\n') ? undefined : text.length - rest.length;
}
