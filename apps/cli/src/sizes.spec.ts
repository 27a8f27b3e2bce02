import { describe, expect, it } from 'vitest';
import { formatBytes } from './sizes.js';

describe('sizes', () => {
  it('CL-145: base 1024, one decimal below 10, halves to even from 10 up', () => {
    const MIB = 1024 * 1024;
    const shown = [1024 * MIB, 9.5 * MIB, 512 * MIB, 12.5 * MIB, 13.5 * MIB, 9.96 * MIB, 7, 512].map(formatBytes);
    expect(shown).toEqual(['1.0 GiB', '9.5 MiB', '512 MiB', '12 MiB', '14 MiB', '10 MiB', '7 B', '512 B']);
  });
});
