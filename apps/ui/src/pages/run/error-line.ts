/** ErrorLine is a line of a text, with its beginning and end in the text. */
export interface ErrorLine {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the line of the server's error about a job file. The server writes `name:LINE,COLUMN`. The result is
 * undefined if it names no place.
 */
export function errorLine(message: string, text: string): ErrorLine | undefined {
  const line = Number(/:(\d+),\d+/.exec(message)?.[1] ?? 0);
  const lines = text.split('\n');
  const wrong = lines[line - 1];
  if (wrong === undefined) return undefined;
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return { line, start, end: start + wrong.length };
}
