/** Made for the first text that wants it: its tables take as long to load as all the rest of this package. */
let graphemes: Intl.Segmenter | undefined;

/** Characters as a person counts them. */
export function charactersOf(text: string): string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}
