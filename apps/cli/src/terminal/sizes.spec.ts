import { describe, expect, it } from 'vitest';
import { formatBytes, formatPercent } from './sizes.js';

describe('sizes', () => {
  it('CL-145: base 1024, one decimal below 10, halves to even from 10 up', () => {
    const MIB = 1024 * 1024;
    const shown = [1024 * MIB, 9.5 * MIB, 512 * MIB, 12.5 * MIB, 13.5 * MIB, 9.96 * MIB, 7, 512].map(formatBytes);
    expect(shown).toEqual(['1.0 GiB', '9.5 MiB', '512 MiB', '12 MiB', '14 MiB', '10 MiB', '7 B', '512 B']);
  });
});

it('CL-146: percent with two decimals and a comma per thousand', () => {
  const samples: [number, string][] = [
    [0, '0.00%'],
    [12.345, '12.35%'],
    [1234.567, '1,234.57%'],
    [1_234_567.8, '1,234,567.80%'],
  ];
  for (const [value, text] of samples) expect(formatPercent(value)).toBe(text);
});
