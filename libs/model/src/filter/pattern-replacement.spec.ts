import { describe, expect, it } from 'vitest';
import { FilterSyntaxError, replaceMatches } from './pattern-replacement.js';

const free = (): void => {};

describe('replacing what a pattern matches', () => {
  it.each([
    ['a1b2', '([a-z])([0-9])', '$2$1', '1a2b'],
    ['hello world', '(?i)WORLD', 'all', 'hello all'],
    ['a.b.c', '\\.', '-', 'a-b-c'],
    ['a_b-c d', '[[:punct:]]+', '', 'abc d'],
    ['hello', '(?P<first>h)(?<second>e)', '${second}$first', 'ehllo'],
    ['hello', '(h)', '$1x', 'ello'],
    ['hello', '(h)', '${1}x$$', 'hx$ello'],
    ['abc', 'b', '[$0$9$nothing]', 'a[b]c'],
    ['abc', 'b', '$ ${ $', 'a$ ${ $c'],
    ['aaa', 'a*?', 'x', 'xaxaxax'],
    ['aaa', 'a*', 'x', 'x'],
    ['baaac', 'a*', 'x', 'xbxcx'],
    ['aaa', '(?U)a+', 'x', 'xxx'],
    ['aaa', 'a{1,2}?', 'x', 'xxx'],
    ['aaaa', 'a{2,3}', 'x', 'xa'],
    ['<a><b>', '<(.+?)>', '$1', 'ab'],
    ['<a><b>', '<(.+)>', '$1', 'a><b'],
    ['foobar', 'foo|foobar', 'x', 'xbar'],
    ['ab', '(a)|(b)', '[$1|$2]', '[a|][|b]'],
    ['abab', '(?:(a)|b)*', '$1!', 'a!'],
    ['one two', '\\b', '|', '|one| |two|'],
    ['a\nb', '(?m)^', '> ', '> a\n> b'],
    ['abc', '\\z', '!', 'abc!'],
    ['aaa', '^a', 'b', 'baa'],
    ['😀x😀', 'x?', '-', '-😀-😀-'],
    ['😀', '.', '$0$0', '😀😀'],
    ['', '', 'x', 'x'],
    ['abc', '', '-', '-a-b-c-'],
    ['10.20.30', '(\\d+)\\.(\\d+)', '$2.$1', '20.10.30'],
  ])('%j by /%s/ and %j', (text, pattern, replacement, expected) => {
    expect(replaceMatches(text, pattern, replacement, free)).toBe(expected);
  });

  it('does what the engine of JavaScript does with a pattern that both know', () => {
    const texts = ['', 'a', 'b', 'ab', 'ba', 'aab', 'abab', 'bbaab', 'abcabc'];
    const patterns = [
      'a',
      'a+',
      'a*',
      'a?b',
      '(a|b)c?',
      '(?:ab)+',
      'a(b*)',
      '(a*)(b*)',
      '^a',
      'b$',
      '[^a]',
      'a.',
      '(a+?)b',
    ];
    for (const text of texts)
      for (const pattern of patterns)
        expect([text, pattern, replaceMatches(text, pattern, '<$1>', free)]).toEqual([
          text,
          pattern,
          // Go does not match nothing right behind a match.
          behindMatchesDropped(text, pattern),
        ]);
  });

  it('takes time text × program, and says what it takes', () => {
    let steps = 0;
    replaceMatches(`${'a'.repeat(1000)}!`, '^(a+)+$', '', (more) => void (steps += more));
    expect(steps).toBeLessThan(20_000);
    expect(() =>
      replaceMatches('aaa', 'a', 'b', () => {
        throw new RangeError('too expensive');
      }),
    ).toThrow('too expensive');
    expect(() => replaceMatches('a', '(', '', free)).toThrow(FilterSyntaxError);
    expect(() => replaceMatches('a', '(?<=a)b', '', free)).toThrow('error parsing regexp');
  });
});

function behindMatchesDropped(text: string, pattern: string): string {
  let end = -1;
  return text.replaceAll(new RegExp(pattern, 'gu'), (match: string, ...rest: unknown[]) => {
    const [group, at] =
      typeof rest[0] === 'number' ? ['', rest[0]] : [rest[0], rest.find((one) => typeof one === 'number')];
    const isBehind = match === '' && at === end;
    end = Number(at) + match.length;
    return isBehind ? '' : `<${typeof group === 'string' ? group : ''}>`;
  });
}
