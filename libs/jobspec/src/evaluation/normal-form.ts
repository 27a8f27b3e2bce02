const NOT_ASCII = /[^\0-\x7f]/u;
const HALF_OF_A_PAIR = /\p{Surrogate}/gu;

/**
 * Composes characters (NFC), so that texts that look alike are equal, also as keys. Half of a surrogate pair becomes
 * U+FFFD.
 */
export const normalised = (text: string): string =>
  NOT_ASCII.test(text) ? text.replaceAll(HALF_OF_A_PAIR, '\ufffd').normalize('NFC') : text;
