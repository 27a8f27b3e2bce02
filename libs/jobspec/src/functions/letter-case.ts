/** Letters whose other case JavaScript writes as two: the single one that Unicode has for them. */
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
/** Letters that are two in one, with the form in which only the first of the two is large. */
const TITLE = new Map(Array.from('ǄǅǆǇǈǉǊǋǌǱǲǳ', (letter, at) => [letter, 'ǅǈǋǲ'.charAt(Math.floor(at / 3))]));

/** Letter by letter, whatever stands beside it, and never more letters than before: ß stays, and a last Σ becomes σ. */
export const lowerCase = (text: string): string =>
  byLetter(text, (letter) => letter.toLowerCase().slice(0, letter.length));

/** As `lowerCase`. */
export const upperCase = (text: string): string => byLetter(text, upperLetter);

/** The first letter of each word. A word begins behind white space, and behind any sign of ASCII that is no letter, digit or `_`. */
export const titleCase = (text: string): string =>
  text.replaceAll(/(?<=^|[\s\0-\x2f:-@[-^`{-\x7f])\p{L}/gu, (letter) => TITLE.get(letter) ?? upperLetter(letter));

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  return upper.length === letter.length ? upper : (SINGLE_UPPER.get(letter) ?? letter);
}

const byLetter = (text: string, change: (letter: string) => string): string => Array.from(text, change).join('');
