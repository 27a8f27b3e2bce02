import { expect, it } from 'vitest';
import { fileText } from './file-text.js';

it('reads bytes as text without a broken character at the end, and no binary file', () => {
  const bytes = new TextEncoder().encode('aé');
  expect(fileText(bytes, 3)).toEqual({ text: 'aé', isCut: false });
  expect(fileText(bytes.subarray(0, 2), 3)).toEqual({ text: 'a', isCut: true });
  expect(fileText(new Uint8Array([1, 0, 2]), 3)).toEqual({ text: undefined, isCut: false });
});
