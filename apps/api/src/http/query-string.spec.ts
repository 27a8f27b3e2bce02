import { expect, it } from 'vitest';
import { indexParam } from './query-string.js';

it.each(['-1', '+1', '1.5', 'x', '0x10', '18446744073709551616', '123456789012345678901'])(
  'API-47: index=%s cannot be read',
  (index) => {
    expect(() => indexParam({ index })).toThrow('Invalid index');
  },
);

it('API-47: an index up to the largest of 64 bits', () => {
  expect(indexParam({})).toBe(0);
  expect(indexParam({ index: '' })).toBe(0);
  expect(indexParam({ index: '7' })).toBe(7);
  expect(indexParam({ index: '18446744073709551615' })).toBe(2 ** 64);
});
