/** Thrown with the reason; the lexer adds the place. */
export class LiteralError extends Error {
  override readonly name = 'LiteralError';
}

const SIMPLE: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

const ESCAPE = /\\(?:([abfnrtv\\'"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

/** The meaning of what stands between Go's quotes (`"…"`). @throws LiteralError */
export function unquote(body: string): string {
  // \xNN and \NNN are bytes of UTF-8, so what is next to each other is decoded together.
  let result = '';
  let bytes: number[] = [];
  const flush = (): void => {
    if (bytes.length > 0) result += new TextDecoder().decode(new Uint8Array(bytes));
    bytes = [];
  };
  for (let at = 0; at < body.length;) {
    if (body[at] !== '\\') {
      flush();
      result += body[at++];
      continue;
    }
    ESCAPE.lastIndex = at;
    const match = ESCAPE.exec(body);
    if (!match) throw new LiteralError('invalid escape in string');
    at += match[0].length;
    const [, simple, hex, octal, short, long] = match;
    const byte = hex !== undefined ? Number.parseInt(hex, 16) : octal !== undefined ? Number.parseInt(octal, 8) : null;
    if (byte !== null) {
      if (byte > 255) throw new LiteralError('invalid escape in string');
      bytes.push(byte);
      continue;
    }
    flush();
    result += simple !== undefined ? (SIMPLE[simple] ?? '') : ofCodePoint(Number.parseInt(short ?? long ?? '', 16));
  }
  flush();
  return result;
}

function ofCodePoint(point: number): string {
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) throw new LiteralError('invalid escape in string');
  return String.fromCodePoint(point);
}

/** `'x'`: the number of its one character. @throws LiteralError */
export function runeValue(body: string): number {
  const characters = Array.from(unquote(body));
  const [first] = characters;
  if (first === undefined || characters.length !== 1) throw new LiteralError('malformed character constant');
  return first.codePointAt(0) ?? 0;
}

const INTEGER = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** Integers beyond 2^53 are bigints. @throws LiteralError */
export function numberValue(text: string): number | bigint {
  if (/__|^_|_$|[.eE+-]_|_[.eE]|^[+-]?0\d*[89]\d*$/.test(text)) throw bad(text);
  const plain = text.replaceAll('_', '');
  const integer = INTEGER.exec(plain);
  if (integer) {
    const digits = (integer[2] ?? '').replace(/^0(?=\d)/, '0o');
    const value = BigInt(digits) * (integer[1] === '-' ? -1n : 1n);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (!FLOAT.test(plain)) throw bad(text);
  return Number(plain);
}

const bad = (text: string): LiteralError => new LiteralError(`bad number syntax: "${text}"`);
