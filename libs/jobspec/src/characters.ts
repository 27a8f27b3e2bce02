/** Created on first use, because loading its tables takes as long as the rest of this package. */
let graphemes: Intl.Segmenter | undefined;

/** Splits a text into characters as users count them. */
export function charactersOf(text: string): string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}
