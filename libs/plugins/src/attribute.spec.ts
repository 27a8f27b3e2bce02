import { describe, expect, it } from 'vitest';
import { attributeFault, attributeText } from './attribute.js';

describe('attributes of plugins', () => {
  it('PG-46: exactly one value, and a unit only with a number', () => {
    expect(attributeFault({ unit: '' })).toBe('no attribute value set');
    expect(attributeFault({ bool_val: false, unit: '' })).toBeUndefined();
    expect(attributeFault({ string_val: 'x', unit: 'MiB' })).toBe(
      'unit can not be specified on a boolean or string attribute',
    );
    expect(attributeFault({ int_val: '1', unit: 'parsec' })).toBe('unrecognized unit "parsec"');
    expect(attributeFault({ float_val: 1, unit: 'GB/s' })).toBeUndefined();
    expect([attributeText({ int_val: '11441', unit: 'MiB' }), attributeText({ bool_val: true, unit: '' })]).toEqual([
      '11441MiB',
      'true',
    ]);
  });
});
