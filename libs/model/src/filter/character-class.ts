/** Whether a code point belongs to a class; -1, beyond the text, never does. */
export type CharacterTest = (codePoint: number) => boolean;

export const negated =
  (test: CharacterTest): CharacterTest =>
  (c) =>
    !test(c);

/** Either case of a letter will do. */
export function withoutCase(test: CharacterTest): CharacterTest {
  return (c) => {
    if (test(c)) return true;
    const text = String.fromCodePoint(c);
    return [text.toLowerCase(), text.toUpperCase()].some(
      (other) => other.length <= 2 && other !== text && test(other.codePointAt(0) ?? c),
    );
  };
}

const PERL: Readonly<Record<string, string>> = { d: '0-9', s: '\\t\\n\\f\\r ', w: '0-9A-Za-z_' };

const POSIX: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7F',
  blank: '\\t ',
  cntrl: '\\x00-\\x1F\\x7F',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`\\{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

/** A class by its name: `d`, `W`, `[:alpha:]`, `[:^space:]`, `pL`, `P{Greek}`; undefined: there is none. */
export function characterClass(name: string): CharacterTest | undefined {
  if (name.startsWith('[')) {
    const not = name.startsWith('[:^');
    const members = POSIX[name.slice(not ? 3 : 2, -2)];
    return members === undefined ? undefined : oneOf(`[${not ? '^' : ''}${members}]`);
  }
  if (/^[pP]/.test(name)) return unicodeClass(name);
  const members = PERL[name.toLowerCase()];
  return members === undefined ? undefined : oneOf(`[${/[A-Z]/.test(name) ? '^' : ''}${members}]`);
}

function unicodeClass(name: string): CharacterTest | undefined {
  const inner = name.slice(1).replaceAll(/[{}]/g, '');
  const not = name.startsWith('P') !== inner.startsWith('^');
  const property = inner.replace('^', '');
  const escape = not ? 'P' : 'p';
  return oneOf(`\\${escape}{${property}}`) ?? oneOf(`\\${escape}{Script=${property}}`);
}

/** One character against one class: nothing that could be tried twice. */
function oneOf(source: string): CharacterTest | undefined {
  try {
    const pattern = new RegExp(`^${source}$`, 'u');
    return (c) => c >= 0 && pattern.test(String.fromCodePoint(c));
  } catch {
    return undefined;
  }
}
