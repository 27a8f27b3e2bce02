import { describe, expect, it } from 'vitest';
import { FilterSyntaxError } from './filter-error.js';
import { Filter } from './filter.js';
import { MAX_EXPRESSION_LENGTH } from './lexer.js';
import { MAX_PATTERN_LENGTH } from './pattern-syntax.js';
import { compilePattern } from './regular-expression.js';

const DEPTH = 100_000;
/** As deep as an expression that is not refused for its length can be. */
const deepest = (open: string, inner: string, close = ''): string => {
  const depth = Math.floor((MAX_EXPRESSION_LENGTH - inner.length) / (open.length + close.length));
  return open.repeat(depth) + inner + close.repeat(depth);
};

describe('what is nested deeply is an error, and never the end of the stack', () => {
  it.each([
    ['parentheses', deepest('(', 'a==1', ')')],
    ['open parentheses', deepest('(', 'a==1')],
    ['quantifiers', deepest('any A as x {', 'a==1', '}')],
    ['groups of a pattern', `a matches "${'('.repeat(30_000)}a${')'.repeat(30_000)}"`],
  ])('filters: %s', (_name, text) => {
    expect(() => Filter.parse(text)).toThrow(FilterSyntaxError);
  });

  it.each([
    ['negations', deepest('not ', 'a==1')],
    ['alternatives', `a==1${' or a==1'.repeat(8_000)}`],
  ])('filters: %s are long, not deep', (_name, text) => {
    expect(Filter.parse(text).matches({ a: 2 })).toBeTypeOf('boolean');
  });

  it('filters that are too long are refused before they are read', () => {
    expect(() => Filter.parse('('.repeat(DEPTH))).toThrow('longer than 65536 characters');
  });

  it.each([
    ['groups', `${'('.repeat(DEPTH)}a${')'.repeat(DEPTH)}`],
    ['repeated groups', `${'(?:'.repeat(DEPTH)}a${')*'.repeat(DEPTH)}`],
    ['alternatives', 'a|'.repeat(DEPTH)],
    ['classes', '[[:alpha:]'.repeat(DEPTH)],
  ])('patterns: %s', (_name, text) => {
    expect(() => compilePattern(text)).toThrow(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
    expect(() => compilePattern(text.slice(0, MAX_PATTERN_LENGTH))).toThrow(FilterSyntaxError);
  });
});
