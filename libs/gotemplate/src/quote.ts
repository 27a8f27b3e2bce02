const NAMED: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

/** As Go prints `%q`; with `asciiOnly` as `%+q`. */
export function quote(text: string, mark: '"' | "'" = '"', asciiOnly = false): string {
  let result = mark as string;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (character === mark) result += `\\${mark}`;
    else if (NAMED[character] !== undefined) result += NAMED[character];
    else if (isPrintable(character) && !(asciiOnly && point >= 0x80)) result += character;
    else if (point < 0x80) result += `\\x${hex(point, 2)}`;
    else if (point < 0x10000) result += `\\u${hex(point, 4)}`;
    else result += `\\U${hex(point, 8)}`;
  }
  return result + mark;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** Letters, marks, numbers, punctuation, symbols and the plain space. */
export const isPrintable = (character: string): boolean =>
  character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
