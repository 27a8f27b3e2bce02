/** The largest number of characters of a log that a page shows without becoming slow. */
const MOST_CHARACTERS = 262_144;

export interface LogText {
  readonly text: string;
  /** Is true if the beginning was dropped. */
  readonly isCut: boolean;
}

export const NO_TEXT: LogText = { text: '', isCut: false };

/** Appends text. Text beyond the limit is dropped at the front, up to the end of a line. */
export function appended({ text, isCut }: LogText, more: string): LogText {
  const whole = text + more;
  if (whole.length <= MOST_CHARACTERS) return { text: whole, isCut };
  const tail = whole.slice(-MOST_CHARACTERS);
  const lineEnd = tail.indexOf('\n');
  return { text: lineEnd < 0 ? tail : tail.slice(lineEnd + 1), isCut: true };
}
