/** Letters whose upper case consists of two letters in JavaScript, with the single one that Unicode has for them. */
const SINGLE_UPPER = new Map(
  [
    [0x1f80, 0x1f87, 8],
    [0x1f90, 0x1f97, 8],
    [0x1fa0, 0x1fa7, 8],
    [0x1fb3, 0x1fb3, 9],
    [0x1fc3, 0x1fc3, 9],
    [0x1ff3, 0x1ff3, 9],
  ].flatMap(([first = 0, last = 0, distance = 0]) =>
    Array.from({ length: last - first + 1 }, (_, at) => [
      String.fromCodePoint(first + at),
      String.fromCodePoint(first + at + distance),
    ]),
  ) as [string, string][],
);
/** Digraphs, with the form in which only the first letter is upper case. */
const TITLE = new Map(Array.from('ǄǅǆǇǈǉǊǋǌǱǲǳ', (letter, at) => [letter, 'ǅǈǋǲ'.charAt(Math.floor(at / 3))]));

/**
 * Converts letter by letter, without regard to neighbours and never to more letters: ß stays, and a final Σ becomes σ.
 */
export const lowerCase = (text: string): string =>
  byLetter(text, (letter) => letter.toLowerCase().slice(0, letter.length));

/** Converts letter by letter, like `lowerCase`. */
export const upperCase = (text: string): string => byLetter(text, upperLetter);

/**
 * Converts the first letter of each word. A word starts after white space, and after any ASCII character other than
 * letters, digits and `_`.
 */
export const titleCase = (text: string): string =>
  text.replaceAll(/(?<=^|[\s\0-\x2f:-@[-^`{-\x7f])\p{L}/gu, (letter) => TITLE.get(letter) ?? upperLetter(letter));

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  return upper.length === letter.length ? upper : (SINGLE_UPPER.get(letter) ?? letter);
}

const byLetter = (text: string, change: (letter: string) => string): string => Array.from(text, change).join('');
