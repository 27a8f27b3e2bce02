import { describe, expect, it } from 'vitest';
import { uuidOfName, uuidOfText } from './uuid-of-name.js';

describe('UUIDs that are derived', () => {
  it('AU-137: of a name, as in the example of RFC 9562', () => {
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
    expect(uuidOfName(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  });

  it.each([
    [9, 'f939715f-4ad5-8920-bba0-a87354e78885'],
    [11, 'd0e7ec19-a19a-87a4-acf1-ecbc4f1a8481'],
    [14, 'ff951c26-c0b8-8276-84a3-05743143cb2b'],
  ])('ND-73: of a text, the same in every version of the program: %d', (index, id) => {
    expect(uuidOfText(`node-evals:6f1c2a34-0b5e-4c1d-8a77-2d9e1f3b4c5d:${index} default/web`)).toBe(id);
  });
});
