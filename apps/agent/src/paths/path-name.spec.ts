import { describe, expect, it } from 'vitest';
import { below, belowAsText, escapedName, isWithin, pathName, UnsafeNameError } from './path-name.js';

const LEADING_OUT = ['', '.', '..', 'a/b', '../x', '/etc', 'a\0b', 'a\nb', 'x'.repeat(256)];

describe('names that become part of a path', () => {
  it.each(LEADING_OUT)('%j is no name of a file', (name) => {
    expect(() => pathName(name)).toThrow(UnsafeNameError);
  });

  it.each(['a', '-rf', '...', '.x', 'a b', 'é', "it's", 'x'.repeat(255)])('%j is one', (name) => {
    expect(below('/d', pathName(name))).toBe(`/d/${name}`);
  });

  it('the error says what it is the name of', () => {
    expect(() => pathName('..', 'the task')).toThrow('the task ".." cannot be ".."');
  });

  it('constants and checked names are joined, a text that came along does not compile', () => {
    const given: string = 'web';
    expect(below('/d', 'alloc', 'data')).toBe('/d/alloc/data');
    expect(below('/d', pathName(given), 'local')).toBe('/d/web/local');
    // @ts-expect-error: it was not checked
    expect(below('/d', given)).toBe('/d/web');
    // @ts-expect-error: it holds something that was not checked
    expect(below('/d', `${given}.json`)).toBe('/d/web.json');
    // @ts-expect-error: the second was not checked
    expect(below('/d', 'alloc', given)).toBe('/d/alloc/web');
  });

  it('VL-307: an ID with slashes is one segment, another one than any ID without', () => {
    const ids = ['a/b', 'a%2Fb', 'a%252Fb', 'a', 'a%'];
    const names = ids.map((id) => escapedName(id, 'the volume'));
    expect(names).toEqual(['a%2Fb', 'a%252Fb', 'a%25252Fb', 'a', 'a%25']);
    for (const bad of ['..', 'a/../b', 'a//b', '/a', 'a\0b'])
      expect(() => escapedName(bad, 'x')).toThrow(UnsafeNameError);
  });

  it.each([
    ['a/b', '/d/a/b'],
    ['/a/b', '/d/a/b'],
    ['a/../b', '/d/b'],
    ['.', '/d'],
    ['a/..', '/d'],
  ])('segments %j below /d are %s', (relative, found) => {
    expect(belowAsText('/d', relative).replace(/(.)\/$/, '$1')).toBe(found);
  });

  it.each(['..', '../d2', 'a/../..', '../dx'])('segments %j lead out', (relative) => {
    expect(() => belowAsText('/d', relative)).toThrow(UnsafeNameError);
  });

  it('a directory whose name begins the same is another one', () => {
    expect([isWithin('/d', '/d/x'), isWithin('/d', '/d'), isWithin('/d', '/dx'), isWithin('/', '/x')]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });
});
