import { describe, expect, it } from 'vitest';
import { cutText, cutValues, MAX_MACHINE_NAME, MAX_MACHINE_VALUE } from './text-limits.js';

describe('a text that is too long is cut', () => {
  it('says so, and has the length it may have', () => {
    expect(cutText('abcdef', 6)).toBe('abcdef');
    expect(cutText('abcdefg', 6)).toBe('abcde…');
  });

  it('is not cut in the middle of a character', () => {
    expect(cutText('abc😀def', 5)).toBe('abc…');
    expect(cutText('abc😀def', 6)).toBe('abc😀…');
  });

  it('also where it is one of many values, and one whose name is too long is left out', () => {
    const short = { a: 'b' };
    expect(cutValues(short)).toBe(short);
    expect(cutValues(null)).toBeNull();
    const long = 'x'.repeat(MAX_MACHINE_VALUE + 1);
    expect(cutValues({ a: 'b', long, ['n'.repeat(MAX_MACHINE_NAME + 1)]: 'c' })).toEqual({
      a: 'b',
      long: `${'x'.repeat(MAX_MACHINE_VALUE - 1)}…`,
    });
  });
});
