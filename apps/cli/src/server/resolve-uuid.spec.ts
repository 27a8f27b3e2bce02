import { describe, expect, it } from 'vitest';
import { CommandFailure } from '../failure.js';
import { lookupPrefix } from './resolve-uuid.js';

describe('prefixes of UUIDs', () => {
  it('CL-155: an odd last digit is dropped, hyphens do not count', () => {
    expect(['123', '1234', '1234-', '12345678-9'].map((given) => lookupPrefix(given, ''))).toEqual([
      '12',
      '1234',
      '1234-',
      '12345678-',
    ]);
  });

  it('CL-155: one character is too short', () => {
    expect(() => lookupPrefix('1', 'Identifier must contain at least two characters.')).toThrow(
      new CommandFailure('Identifier must contain at least two characters.'),
    );
  });
});
