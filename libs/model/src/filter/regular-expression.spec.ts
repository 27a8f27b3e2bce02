import { describe, expect, it } from 'vitest';
import { compilePattern, FilterSyntaxError } from './index.js';

const free = (): void => {};
const matches = (pattern: string, text: string): boolean => compilePattern(pattern).test(text, free);

describe('regular expressions of filters', () => {
  it.each([
    ['', 'x', true],
    ['b', 'abc', true],
    ['^b', 'abc', false],
    ['c$', 'abc', true],
    ['^$', '', true],
    ['a.c', 'abc', true],
    ['a.c', 'a\nc', false],
    ['(?s)a.c', 'a\nc', true],
    ['(?m)^b$', 'a\nb\nc', true],
    ['^(a|bc)+$', 'abcbca', true],
    ['^(?:ab){2,3}$', 'abab', true],
    ['^(?:ab){2,3}$', 'ab', false],
    ['^a{2,}$', 'aaaa', true],
    ['^a{,2}$', 'a{,2}', true],
    ['^(?P<x>a)(?<y>b)$', 'ab', true],
    ['(?i)^WEB$', 'web', true],
    ['^(?i:W)eb$', 'web', true],
    ['^(?i:W)eb$', 'wEb', false],
    ['a(?i)b', 'aB', true],
    ['[^a-c]', 'abc', false],
    ['(?i)[^a]', 'A', false],
    ['^[]a]+$', ']a', true],
    ['^[a-]+$', 'a-', true],
    ['^[\\d_]+$', '1_2', true],
    ['^[[:alpha:]]+$', 'abC', true],
    ['^[[:^digit:]]$', '1', false],
    ['\\bweb\\b', 'a web b', true],
    ['\\bweb\\b', 'cobweb', false],
    ['web\\B', 'webs', true],
    ['^\\pL+$', 'abcé', true],
    ['^\\p{Greek}$', 'λ', true],
    ['^\\P{Greek}$', 'λ', false],
    ['^\\Qa.b\\E$', 'a.b', true],
    ['^\\Qa.b\\E$', 'axb', false],
    ['^\\x41\\x{1F600}\\101$', 'A\u{1f600}A', true],
    ['^.$', '\u{1f600}', true],
    ['\\Aab\\z', 'ab', true],
    ['a??b', 'b', true],
    ['(|a)*b', 'aab', true],
    ['(a*)*$', 'aaa', true],
  ])('API-70: %s on %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  it.each([
    '(',
    ')',
    'a**',
    '*',
    '[',
    '[b-a]',
    'a{1001}',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '\\1',
    '\\C',
    'a{2,1}',
    '\\',
    '\\p{Klingonese}',
    '[[:no:]]',
  ])('refuses %s, as RE2 does', (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(FilterSyntaxError);
  });

  it('API-71: what makes backtracking explode takes time linear in the text', () => {
    const text = 'a'.repeat(20_000);
    for (const pattern of ['^(a+)+$!', '(a|a)*b', '(a*)*b', '(.*)*x', 'a?a?a?a?a?a?a?a?a?a?b']) {
      let steps = 0;
      expect(compilePattern(pattern).test(text, (n) => (steps += n))).toBe(false);
      expect(steps).toBeLessThan(40 * text.length);
    }
    expect(() => compilePattern('((a{100}){100}){100}')).toThrow('expression too large');
    expect(() => compilePattern('('.repeat(300) + ')'.repeat(300))).toThrow('nests too deeply');
  });
});
