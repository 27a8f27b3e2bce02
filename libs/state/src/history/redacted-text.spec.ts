import { describe, expect, it } from 'vitest';
import { withTexts } from './redacted-text.js';

const ROW = { Env: { A: 'secret', B: 'other' }, Args: ['x', 'secret'], Count: 1, None: null };

describe('texts of a row', () => {
  it('ST-185: the texts at the paths are other ones, and the row that was given stays', () => {
    const texts = [
      { Path: ['Env', 'A'], Text: 'new' },
      { Path: ['Args', 1], Text: '' },
    ];
    expect(withTexts(ROW, texts)).toEqual({ ...ROW, Env: { A: 'new', B: 'other' }, Args: ['x', ''] });
    expect(ROW.Env.A + ROW.Args[1]).toBe('secretsecret');
  });

  it('ST-185: a path that leads to no text of the row itself is refused', () => {
    const paths = [
      [],
      ['Env'],
      ['Env', 'C'],
      ['Env', 'A', 0],
      ['Args', 2],
      ['Args', 'length'],
      ['Count'],
      ['None', 'x'],
    ];
    for (const Path of [...paths, ['__proto__'], ['constructor', 'name'], ['Env', '__proto__', 'x']])
      expect(() => withTexts(ROW, [{ Path, Text: 'x' }]), JSON.stringify(Path)).toThrow('not there any more');
  });
});
