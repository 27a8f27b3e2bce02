import { describe, expect, it } from 'vitest';
import { parseStored, plainText, storedJson, storedText } from './stored-text.js';

const awkward = [
  'plain',
  '',
  '\u0000',
  'a\u0000b',
  '\\u0000',
  '\\\\u0000',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  '😀',
  '\ue000',
  '\ue0000000',
  '\ue000e000',
  '\\\ue000\u0000\\',
];

describe('text as Postgres can store it', () => {
  it.each(awkward)('%j comes back from json as it was', (text) => {
    const stored = storedJson({ [text]: [text] });
    expect(stored).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/);
    expect(parseStored(stored)).toEqual({ [text]: [text] });
  });

  it.each(awkward)('%j as a column is what json gives for the same string', (text) => {
    expect(storedText(text)).toBe(JSON.parse(storedJson(text)));
    expect(plainText(storedText(text))).toBe(text);
  });
});
