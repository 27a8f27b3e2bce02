import { describe, expect, it } from 'vitest';
import { binaryArray } from './binary-array.js';

/** As PostgreSQL's documentation of `array_recv` has it: header, then length and bytes of each element. */
function elements(array: Buffer): (Buffer | null)[] {
  const found: (Buffer | null)[] = [];
  let at = 20;
  while (at < array.length) {
    const length = array.readInt32BE(at);
    at += 4;
    found.push(length < 0 ? null : array.subarray(at, at + length));
    at += Math.max(0, length);
  }
  return found;
}

const header = (array: Buffer): number[] => [0, 4, 8, 12, 16].map((at) => array.readInt32BE(at));

describe('binaryArray', () => {
  it('says how many elements of which type follow, and whether one is null', () => {
    expect(header(binaryArray('text', ['a', 'b']))).toEqual([1, 0, 25, 2, 1]);
    expect(header(binaryArray('varchar', ['a', null, 'c']))).toEqual([1, 1, 1043, 3, 1]);
  });

  it('counts the bytes of a text, not its characters', () => {
    const texts = ['', 'plain', 'ü€🚢', '{"a":"\\"}", NULL'];
    expect(elements(binaryArray('text', texts)).map((bytes) => bytes?.toString())).toEqual(texts);
  });

  it('keeps what is null apart from what is empty', () => {
    expect(elements(binaryArray('json', [null, '']))).toEqual([null, Buffer.alloc(0)]);
  });

  it.each([0, 1, -1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, 1_767_225_600_000_000_000])(
    'writes %d in eight bytes',
    (value) => {
      expect(elements(binaryArray('bigint', [value]))[0]?.readBigInt64BE(0)).toBe(BigInt(value));
    },
  );

  it('writes integers in four bytes and booleans in one', () => {
    expect(elements(binaryArray('integer', [-7]))[0]?.readInt32BE(0)).toBe(-7);
    expect(elements(binaryArray('boolean', [true, false]))).toEqual([Buffer.from([1]), Buffer.from([0])]);
  });

  it('takes nothing that is not of the type', () => {
    expect(() => binaryArray('bigint', [1.5])).toThrow(TypeError);
    expect(() => binaryArray('text', [1])).toThrow(TypeError);
  });
});
