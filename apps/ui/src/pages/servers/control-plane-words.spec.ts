import { expect, it } from 'vitest';
import { lagInWords, servicesInWords } from './control-plane-words.js';

it('says how far something is behind', () => {
  expect(lagInWords(0)).toBe('up to date');
  expect(lagInWords(1_200)).toBe('1,200 behind');
});

it('counts services of the same name', () => {
  expect(servicesInWords([{ Service: 'api' }, { Service: 'broker' }, { Service: 'api' }])).toBe('api ×2, broker');
  expect(servicesInWords([])).toBe('none');
});
