import { isPrintable } from './quote.js';

const HTML: Readonly<Record<string, string>> = {
  '\0': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

/** For text and attributes of HTML. */
export const escapeHtml = (text: string): string => text.replaceAll(/[\0"'&<>]/g, (one) => HTML[one] ?? one);

/** For strings of JavaScript. */
export function escapeJs(text: string): string {
  let result = '';
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (character === '\\' || character === "'" || character === '"') result += `\\${character}`;
    else if ('<>&='.includes(character) || point < 0x20 || !isPrintable(character))
      result += `\\u${point.toString(16).toUpperCase().padStart(4, '0')}`;
    else result += character;
  }
  return result;
}

/** For a value in the query of an address. */
export const escapeQuery = (text: string): string =>
  encodeURIComponent(wellFormed(text))
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Half a pair of surrogates becomes U+FFFD. */
const wellFormed = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text));
