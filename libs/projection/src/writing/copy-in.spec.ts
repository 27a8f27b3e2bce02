import { describe, expect, it } from 'vitest';
import { copiedRows } from './copy-in.js';

/** As PostgreSQL's documentation of COPY has it: signature, flags and extension, rows of counted values, the end. */
function readRows(bytes: Buffer): (Buffer | null)[][] {
  expect(bytes.toString('latin1', 0, 1)).toBe('d');
  const end = bytes.readInt32BE(1) + 1;
  expect(bytes.toString('latin1', 5, 16)).toBe('PGCOPY\n\xff\r\n\0');
  expect([bytes.readInt32BE(16), bytes.readInt32BE(20)]).toEqual([0, 0]);
  expect(bytes.subarray(end)).toEqual(Buffer.from([0x63, 0, 0, 0, 4])); // CopyDone
  const rows: (Buffer | null)[][] = [];
  let at = 24;
  for (let count = bytes.readInt16BE(at); count >= 0; count = bytes.readInt16BE(at)) {
    at += 2;
    const row: (Buffer | null)[] = [];
    for (let i = 0; i < count; i++) {
      const length = bytes.readInt32BE(at);
      at += 4;
      row.push(length < 0 ? null : bytes.subarray(at, at + length));
      at += Math.max(0, length);
    }
    rows.push(row);
  }
  expect(at + 2).toBe(end);
  return rows;
}

describe('copiedRows', () => {
  it('writes each value behind its length, and nothing for null', () => {
    const columns = [{ type: 'text' }, { type: 'bigint' }, { type: 'boolean' }, { type: 'varchar' }] as const;
    const rows = readRows(
      copiedRows(columns, [
        ['ü€🚢', 2 ** 40 + 7, true, '{}'],
        ['', -1, false, null],
      ]),
    );
    expect(rows.map(([text]) => text?.toString())).toEqual(['ü€🚢', '']);
    expect(rows.map(([, index]) => Number(index?.readBigInt64BE()))).toEqual([2 ** 40 + 7, -1]);
    expect(rows.map(([, , flag]) => flag?.[0])).toEqual([1, 0]);
    expect(rows.map(([, , , body]) => body?.toString() ?? null)).toEqual(['{}', null]);
  });

  it('is a message also without rows, and with long ones', () => {
    expect(readRows(copiedRows([{ type: 'text' }], []))).toEqual([]);
    const long = 'x'.repeat(300_000);
    const rows = readRows(copiedRows([{ type: 'varchar' }], [['a'], [long], [`${long}${long}é`], ['b']]));
    expect(rows.map(([text]) => text?.length)).toEqual([1, 300_000, 600_002, 1]);
  });

  it('refuses what is not of its column', () => {
    expect(() => copiedRows([{ type: 'bigint' }], [['1']])).toThrow(TypeError);
    expect(() => copiedRows([{ type: 'text' }], [[1]])).toThrow(TypeError);
    expect(() => copiedRows([{ type: 'integer' }], [[2 ** 31]])).toThrow(RangeError);
  });
});
