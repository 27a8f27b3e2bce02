import { characterClass, type CharacterTest, negated, withoutCase } from './character-class.js';

/** A condition between two characters, given as code points. -1 stands for either end of the text. */
export type Assertion = (before: number, after: number) => boolean;

/** A parsed pattern. */
export type PatternNode =
  | { readonly kind: 'character'; readonly matches: CharacterTest }
  | { readonly kind: 'assert'; readonly holds: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly of: readonly PatternNode[] }
  | {
      readonly kind: 'repeat';
      readonly of: PatternNode;
      readonly min: number;
      readonly max: number | undefined;
      readonly isLazy: boolean;
    }
  /** A capturing group. Groups are numbered from 1 in the order of their opening brackets. */
  | { readonly kind: 'group'; readonly of: PatternNode; readonly group: number };

/** The pattern is invalid. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Limit of counted repetitions, as in RE2. */
const MAX_REPEAT = 1_000;
const MAX_NESTING = 200;
/** Most characters of a pattern. A longer one would become a program that is too large after seconds of parsing. */
export const MAX_PATTERN_LENGTH = 16_384;

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly U: boolean;
}

const NEWLINE = 10;
const isWord: CharacterTest = (c) => (c >= 48 && c <= 57) || (c >= 65 && c <= 90) || c === 95 || (c >= 97 && c <= 122);
const atWordEdge: Assertion = (before, after) => isWord(before) !== isWord(after);

const textBegins: PatternNode = { kind: 'assert', holds: (before) => before === -1 };
const textEnds: PatternNode = { kind: 'assert', holds: (_, after) => after === -1 };
const lineBegins: PatternNode = { kind: 'assert', holds: (before) => before === -1 || before === NEWLINE };
const lineEnds: PatternNode = { kind: 'assert', holds: (_, after) => after === -1 || after === NEWLINE };

const ASSERTIONS: Readonly<Record<string, PatternNode>> = {
  A: textBegins,
  z: textEnds,
  b: { kind: 'assert', holds: atWordEdge },
  B: { kind: 'assert', holds: (before, after) => !atWordEdge(before, after) },
};

export interface ParsedPattern {
  readonly node: PatternNode;
  /** Names of the capturing groups, from group 1. Empty for a group without a name. */
  readonly groupNames: readonly string[];
}

/** Parses a pattern in RE2's syntax. @throws PatternError */
export function parsePattern(text: string): ParsedPattern {
  if (text.length > MAX_PATTERN_LENGTH)
    throw new PatternError(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  const parser = new PatternParser(text);
  return { node: parser.whole(), groupNames: parser.groupNames };
}

class PatternParser {
  private readonly points: readonly string[];
  private at = 0;
  private depth = 0;
  private flags: Flags = { i: false, m: false, s: false, U: false };
  readonly groupNames: string[] = [];

  constructor(text: string) {
    this.points = Array.from(text);
  }

  whole(): PatternNode {
    const node = this.choice();
    if (this.at < this.points.length) throw new PatternError('unexpected )');
    return node;
  }

  private choice(): PatternNode {
    const of = [this.sequence()];
    while (this.takeCharacter('|')) of.push(this.sequence());
    return of.length === 1 && of[0] ? of[0] : { kind: 'choice', of };
  }

  private sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.at < this.points.length && this.peek() !== '|' && this.peek() !== ')') {
      const atom = this.atom();
      if (atom) parts.push(this.repeated(atom));
    }
    return { kind: 'sequence', parts };
  }

  /** Returns undefined if the parentheses only set flags. */
  private atom(): PatternNode | undefined {
    const c = this.next();
    switch (c) {
      case '(':
        return this.group();
      case '[':
        return this.character(this.bracket());
      case '.':
        return this.flags.s ? plain(() => true) : plain((p) => p !== NEWLINE);
      case '^':
        return this.flags.m ? lineBegins : textBegins;
      case '$':
        return this.flags.m ? lineEnds : textEnds;
      case '*':
      case '+':
      case '?':
        throw new PatternError('missing argument to repetition operator');
      case '\\':
        return this.escape();
      default:
        return this.literal(c);
    }
  }

  private group(): PatternNode | undefined {
    if (++this.depth > MAX_NESTING) throw new PatternError('expression nests too deeply');
    const outer = this.flags;
    let name: string | undefined = '';
    if (this.takeCharacter('?')) {
      name = this.taken(/^P?<\w+>/)?.replace(/^P?<(.*)>$/, '$1');
      if (name === undefined) {
        const flags = this.taken(/^([imsU]*(?:-[imsU]+)?)([:)])/);
        if (flags === undefined) throw new PatternError('invalid or unsupported Perl syntax');
        this.flags = changed(outer, flags.slice(0, -1));
        if (flags.endsWith(')')) {
          this.depth--;
          return undefined;
        }
      }
    }
    const group = name === undefined ? 0 : this.groupNames.push(name);
    const of = this.choice();
    if (!this.takeCharacter(')')) throw new PatternError('missing closing )');
    this.flags = outer;
    this.depth--;
    return group === 0 ? of : { kind: 'group', of, group };
  }

  private repeated(atom: PatternNode): PatternNode {
    let node = atom;
    for (let times = 0; ; times++) {
      const range = this.range();
      if (!range) return node;
      if (times > 0) throw new PatternError('invalid nested repetition operator');
      const isLazy = this.takeCharacter('?') !== this.flags.U;
      node = { kind: 'repeat', of: node, ...range, isLazy };
    }
  }

  private range(): { min: number; max: number | undefined } | undefined {
    if (this.takeCharacter('*')) return { min: 0, max: undefined };
    if (this.takeCharacter('+')) return { min: 1, max: undefined };
    if (this.takeCharacter('?')) return { min: 0, max: 1 };
    const counted = this.taken(/^\{\d{1,9}(?:,\d{0,9})?\}/);
    if (counted === undefined) return undefined;
    const [least = '', most] = counted.slice(1, -1).split(',');
    const min = Number(least);
    const max = most === undefined ? min : most === '' ? undefined : Number(most);
    if (min > MAX_REPEAT || (max ?? 0) > MAX_REPEAT || (max ?? min) < min)
      throw new PatternError('invalid repeat count');
    return { min, max };
  }

  private escape(): PatternNode {
    const c = this.peek();
    const assertion = ASSERTIONS[c];
    if (assertion) {
      this.at++;
      return assertion;
    }
    if (this.takeCharacter('Q')) return this.quoted();
    const set = this.classEscape();
    return set ? this.character(set) : this.literal(this.characterEscape());
  }

  private quoted(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.at < this.points.length) {
      if (this.taken(/^\\E/) !== undefined) break;
      parts.push(this.literal(this.next()));
    }
    return { kind: 'sequence', parts };
  }

  private classEscape(): CharacterTest | undefined {
    const perl = this.taken(/^[dDsSwW]/);
    if (perl !== undefined) return characterClass(perl);
    const unicode = this.taken(/^[pP](?:[A-Z]|\{\^?\w+\})/);
    if (unicode === undefined) return undefined;
    const test = characterClass(unicode);
    if (!test) throw new PatternError(`invalid character class range: \`\\${unicode}\``);
    return test;
  }

  private characterEscape(): string {
    const hex = this.taken(/^x(?:[0-9a-fA-F]{2}|\{[0-9a-fA-F]{1,6}\})/)?.replaceAll(/[x{}]/g, '');
    if (hex !== undefined) return codePoint(Number.parseInt(hex, 16));
    const octal = this.taken(/^(?:0[0-7]{0,2}|[1-7][0-7]{2})/);
    if (octal !== undefined) return codePoint(Number.parseInt(octal, 8));
    const c = this.next();
    const control = { a: '\x07', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }[c];
    if (control !== undefined) return control;
    if (c === '') throw new PatternError('trailing backslash at end of expression');
    if (/^[\w\u0080-\u{10ffff}]$/u.test(c)) throw new PatternError(`invalid escape sequence: \`\\${c}\``);
    return c;
  }

  /** Parses a bracket expression. The cursor is after the opening bracket. */
  private bracket(): CharacterTest {
    const not = this.takeCharacter('^');
    const tests: CharacterTest[] = [];
    for (let first = true; ; first = false) {
      if (this.at >= this.points.length) throw new PatternError('missing closing ]');
      if (!first && this.takeCharacter(']')) break;
      tests.push(this.bracketItem());
    }
    const any: CharacterTest = (c) => tests.some((test) => test(c));
    const folded = this.flags.i ? withoutCase(any) : any;
    return not ? negated(folded) : folded;
  }

  private bracketItem(): CharacterTest {
    const posix = this.taken(/^\[:\^?\w+:\]/);
    if (posix !== undefined) {
      const test = characterClass(posix);
      if (!test) throw new PatternError(`invalid character class range: \`${posix}\``);
      return test;
    }
    if (this.peek() === '\\' && /[dDsSwWpP]/.test(this.points[this.at + 1] ?? '')) {
      this.at++;
      const test = this.classEscape();
      if (!test) throw new PatternError('invalid character class');
      return test;
    }
    const low = this.bracketCharacter();
    if (this.peek() !== '-' || [']', undefined].includes(this.points[this.at + 1])) return (c) => c === low;
    this.at++;
    const high = this.bracketCharacter();
    if (high < low) throw new PatternError('invalid character class range');
    return (c) => c >= low && c <= high;
  }

  private bracketCharacter(): number {
    return (this.takeCharacter('\\') ? this.characterEscape() : this.next()).codePointAt(0) ?? 0;
  }

  private literal(c: string): PatternNode {
    const point = c.codePointAt(0) ?? 0;
    return this.character((p) => p === point);
  }

  private character(test: CharacterTest): PatternNode {
    return plain(this.flags.i ? withoutCase(test) : test);
  }

  private peek(): string {
    return this.points[this.at] ?? '';
  }

  private next(): string {
    return this.points[this.at++] ?? '';
  }

  private takeCharacter(c: string): boolean {
    if (this.peek() !== c) return false;
    this.at++;
    return true;
  }

  /** Consumes the match of a pattern at the cursor, limited to the length of the longest escape. */
  private taken(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.points.slice(this.at, this.at + MAX_TAKEN).join(''))?.[0];
    if (found !== undefined) this.at += Array.from(found).length;
    return found;
  }
}

/** Most characters of a name, a class or a range of counts. */
const MAX_TAKEN = 64;

const plain = (matches: CharacterTest): PatternNode => ({ kind: 'character', matches });

function changed(flags: Flags, given: string): Flags {
  const [on = '', off = ''] = given.split('-');
  const of = (name: string, before: boolean): boolean => (before || on.includes(name)) && !off.includes(name);
  return { i: of('i', flags.i), m: of('m', flags.m), s: of('s', flags.s), U: of('U', flags.U) };
}

function codePoint(value: number): string {
  if (value > 0x10ffff) throw new PatternError('invalid escape sequence');
  return String.fromCodePoint(value);
}
