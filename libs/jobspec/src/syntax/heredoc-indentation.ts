/** The text of a heredoc in order; undefined stands for an interpolation or a directive. */
export type HeredocPiece = string | undefined;

/**
 * JS-22: every line without the smallest indentation found. Lines of nothing but whitespace neither count nor change; a
 * sequence in a line counts as something.
 */
export function withoutIndentation(pieces: readonly HeredocPiece[]): HeredocPiece[] {
  const indentation = smallestIndentation(pieces);
  let startsLine = true;
  return pieces.map((piece, at) => {
    if (piece === undefined) {
      startsLine = false;
      return piece;
    }
    const lines = piece.split('\n');
    const cut = lines.map((line, number) => {
      const isStart = number > 0 || startsLine;
      const isWhole = number < lines.length - 1 || at === pieces.length - 1;
      return !isStart || (isWhole && line.trim() === '') ? line : line.slice(indentation);
    });
    startsLine = piece.endsWith('\n');
    return cut.join('\n');
  });
}

function smallestIndentation(pieces: readonly HeredocPiece[]): number {
  let smallest = Infinity;
  let line = '';
  for (const [at, piece] of pieces.entries()) {
    // A sequence is visible: `x` stands for it.
    const lines = `${line}${piece ?? 'x'}`.split('\n');
    line = lines.pop() ?? '';
    const complete = at === pieces.length - 1 ? [...lines, line] : lines;
    for (const one of complete) {
      if (one.trim() !== '') smallest = Math.min(smallest, one.length - one.trimStart().length);
    }
  }
  return smallest === Infinity ? 0 : smallest;
}
