import { UNICODE_CLASSES } from './unicode-classes.js';

/** Whether a code point belongs to a class. -1 stands for the end of the text and never does. */
export type CharacterTest = (codePoint: number) => boolean;

export const negated =
  (test: CharacterTest): CharacterTest =>
  (c) =>
    !test(c);

/** Returns the test for a class without regard to case. */
export function withoutCase(test: CharacterTest): CharacterTest {
  return (c) => {
    if (test(c)) return true;
    const text = String.fromCodePoint(c);
    return [text.toLowerCase(), text.toUpperCase()].some(
      (other) => other.length <= 2 && other !== text && test(other.codePointAt(0) ?? c),
    );
  };
}

const PERL: ReadonlyMap<string, RegExp> = new Map([
  ['d', /^[0-9]$/u],
  ['s', /^[\t\n\f\r ]$/u],
  ['w', /^[0-9A-Za-z_]$/u],
]);

const POSIX: ReadonlyMap<string, RegExp> = new Map([
  ['alnum', /^[0-9A-Za-z]$/u],
  ['alpha', /^[A-Za-z]$/u],
  // oxlint-disable-next-line no-control-regex
  ['ascii', /^[\x00-\x7F]$/u],
  ['blank', /^[\t ]$/u],
  // oxlint-disable-next-line no-control-regex
  ['cntrl', /^[\x00-\x1F\x7F]$/u],
  ['digit', /^[0-9]$/u],
  ['graph', /^[!-~]$/u],
  ['lower', /^[a-z]$/u],
  ['print', /^[ -~]$/u],
  ['punct', /^[!-/:-@[-`{-~]$/u],
  ['space', /^[\t\n\v\f\r ]$/u],
  ['upper', /^[A-Z]$/u],
  ['word', /^[0-9A-Za-z_]$/u],
  ['xdigit', /^[0-9A-Fa-f]$/u],
]);

/**
 * Returns a class by its name: `d`, `W`, `[:alpha:]`, `[:^space:]`, `pL`, `P{Greek}`. Undefined if there is no such
 * class.
 */
export function characterClass(name: string): CharacterTest | undefined {
  if (name.startsWith('[')) {
    const not = name.startsWith('[:^');
    return oneOf(POSIX.get(name.slice(not ? 3 : 2, -2)), not);
  }
  if (/^[pP]/.test(name)) return unicodeClass(name);
  return oneOf(PERL.get(name.toLowerCase()), /[A-Z]/.test(name));
}

function unicodeClass(name: string): CharacterTest | undefined {
  const inner = name.slice(1).replaceAll(/[{}]/g, '');
  const not = name.startsWith('P') !== inner.startsWith('^');
  return oneOf(UNICODE_CLASSES.get(inner.replace('^', '')), not);
}

/** Tests one character against one class, so there is nothing to backtrack. */
function oneOf(pattern: RegExp | undefined, not: boolean): CharacterTest | undefined {
  return pattern && ((c) => c >= 0 && pattern.test(String.fromCodePoint(c)) !== not);
}
