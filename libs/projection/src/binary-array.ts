/** Types of columns that are sent as arrays, with their numbers in PostgreSQL's catalogue. */
const ELEMENT_OIDS = { boolean: 16, bigint: 20, integer: 23, text: 25, json: 114, varchar: 1043 } as const;

export type ElementType = keyof typeof ELEMENT_OIDS;

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
/** Length of an element that is null. */
const NULL_LENGTH = -1;

/**
 * One column of many rows as PostgreSQL's binary form of a one-dimensional array, which `pg` sends as it is. As text every
 * element would have to be quoted here and parsed there, which costs a long body as much as writing it.
 * @throws TypeError a value is not of the type, RangeError an `integer` has more than 32 bits
 */
export function binaryArray(type: ElementType, values: readonly (string | number | boolean | null)[]): Buffer {
  const element = type === 'boolean' || type === 'integer' || type === 'bigint' ? FIXED[type] : TEXT;
  let size = HEADER_BYTES + LENGTH_BYTES * values.length;
  for (const value of values) if (value !== null) size += element.sizeOf(value);
  const buffer = Buffer.allocUnsafe(size);
  buffer.writeInt32BE(1, 0); // dimensions
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(ELEMENT_OIDS[type], 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16); // index of the first element
  let at = HEADER_BYTES;
  for (const value of values) {
    const length = value === null ? NULL_LENGTH : element.write(buffer, value, at + LENGTH_BYTES);
    buffer.writeInt32BE(length, at);
    at += LENGTH_BYTES + Math.max(0, length);
  }
  return buffer;
}

type Value = string | number | boolean;

interface Element {
  /** Bytes of the value. */
  readonly sizeOf: (value: Value) => number;
  /** Writes the value and answers its bytes. */
  readonly write: (buffer: Buffer, value: Value, at: number) => number;
}

const TEXT: Element = {
  sizeOf: (value) => Buffer.byteLength(textOf(value)),
  write: (buffer, value, at) => buffer.write(textOf(value), at),
};

const FIXED: { readonly [T in 'boolean' | 'integer' | 'bigint']: Element } = {
  boolean: { sizeOf: () => 1, write: (buffer, value, at) => buffer.writeUInt8(value === true ? 1 : 0, at) - at },
  integer: { sizeOf: () => 4, write: (buffer, value, at) => buffer.writeInt32BE(numberOf(value), at) - at },
  bigint: { sizeOf: () => 8, write: (buffer, value, at) => writeInt64(buffer, numberOf(value), at) - at },
};

const HIGH = 2 ** 32;

/** Without a BigInt for each: the high and the low half. */
function writeInt64(buffer: Buffer, value: number, at: number): number {
  const high = Math.floor(value / HIGH);
  buffer.writeInt32BE(high, at);
  return buffer.writeUInt32BE(value - high * HIGH, at + 4);
}

function textOf(value: Value): string {
  if (typeof value !== 'string') throw new TypeError(`${typeof value} in a column of texts`);
  return value;
}

function numberOf(value: Value): number {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw new TypeError(`${String(value)} in a column of integers`);
  return value;
}
