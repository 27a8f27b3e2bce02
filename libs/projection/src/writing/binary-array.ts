import { BINARY_FORMS, type BinaryType, type BinaryValue, roomWithLength, writeWithLength } from './binary-values.js';

/** OIDs of the types in PostgreSQL's catalogue. */
const OIDS: { readonly [T in BinaryType]: number } = {
  boolean: 16,
  bigint: 20,
  integer: 23,
  text: 25,
  json: 114,
  varchar: 1043,
};

const HEADER_BYTES = 20;

/**
 * Encodes one column of many rows as PostgreSQL's binary one-dimensional array, which `pg` sends unchanged. As text,
 * every element would be quoted here and parsed there, which takes as long as writing a long body.
 * @throws TypeError if a value has another type, RangeError if an `integer` has more than 32 bits
 */
export function binaryArray(type: BinaryType, values: readonly (BinaryValue | null)[]): Buffer {
  const form = BINARY_FORMS[type];
  let size = HEADER_BYTES;
  for (const value of values) size += roomWithLength(form, value);
  const buffer = Buffer.allocUnsafe(size);
  buffer.writeInt32BE(1, 0); // dimensions
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(OIDS[type], 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16); // index of the first element
  let at = HEADER_BYTES;
  for (const value of values) at = writeWithLength(form, buffer, value, at);
  return at === size ? buffer : buffer.subarray(0, at);
}
