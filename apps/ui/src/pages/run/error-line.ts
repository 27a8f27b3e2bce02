/** A line of a text, and where it begins and ends in it. */
export interface ErrorLine {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

/** Where the server says that a job file is wrong: it writes `name:LINE,COLUMN`. Undefined when it says no place. */
export function errorLine(message: string, text: string): ErrorLine | undefined {
  const line = Number(/:(\d+),\d+/.exec(message)?.[1] ?? 0);
  const lines = text.split('\n');
  const wrong = lines[line - 1];
  if (wrong === undefined) return undefined;
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return { line, start, end: start + wrong.length };
}
