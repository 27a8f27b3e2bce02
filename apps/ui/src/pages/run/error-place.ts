/** ErrorPlace is the place of a mistake in a text, as offsets in characters. */
export interface ErrorPlace {
  readonly start: number;
  readonly end: number;
}

/** The server writes `name:LINE,COLUMN-COLUMN` or, if the mistake ends on another line, `name:LINE,COLUMN-LINE,COLUMN`. */
const PLACE = /:(\d+),(\d+)-(?:(\d+),)?(\d+)/;

/** The beginning of an error about the variables of a job file. */
const ABOUT_VARIABLES = 'unable to parse var content: ';

/**
 * Returns the place of the server's error about a text. A mistake of no width or of several lines counts as its first
 * line. The result is undefined if the error names no place in the text.
 */
export function errorPlace(message: string, text: string): ErrorPlace | undefined {
  const [, first = '0', from = '1', last = first, to = '1'] = PLACE.exec(message) ?? [];
  const lines = text.split('\n');
  const wrong = lines[Number(first) - 1];
  if (wrong === undefined) return undefined;
  const line = lines.slice(0, Number(first) - 1).reduce((sum, { length }) => sum + length + 1, 0);
  const [begin, end] = [Number(from) - 1, Number(to) - 1];
  if (first === last && begin < end && end <= wrong.length) return { start: line + begin, end: line + end };
  return { start: line + wrong.length - wrong.trimStart().length, end: line + wrong.length };
}

/** Says whether an error is about the variables, and not about the job file itself. */
export const isAboutVariables = (message: string): boolean => message.includes(ABOUT_VARIABLES);
