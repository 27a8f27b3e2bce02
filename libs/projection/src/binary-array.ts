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
  for (const value of values) if (value !== null) size += element.roomFor(value);
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
  return at === size ? buffer : buffer.subarray(0, at);
}

type Value = string | number | boolean;

interface Element {
  /** Bytes that the value needs at most. */
  readonly roomFor: (value: Value) => number;
  /** Writes the value and answers its bytes. */
  readonly write: (buffer: Buffer, value: Value, at: number) => number;
}

const TEXT: Element = {
  roomFor: (value) => {
    const text = textOf(value);
    return text.length > MAX_SHORT_LENGTH ? Buffer.byteLength(text) : text.length * MAX_BYTES_PER_UNIT;
  },
  write: (buffer, value, at) => {
    const text = textOf(value);
    return text.length > MAX_SHORT_LENGTH || !writeAscii(buffer, text, at) ? buffer.write(text, at) : text.length;
  },
};

/** Keys and statuses: written here they take a third of what a call for each takes. */
const MAX_SHORT_LENGTH = 40;
/** Of UTF-8, for one unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;

/** @returns false: it is not ASCII, and what was written is of no use */
function writeAscii(buffer: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    buffer[at + i] = unit;
  }
  return true;
}

const FIXED: { readonly [T in 'boolean' | 'integer' | 'bigint']: Element } = {
  boolean: { roomFor: () => 1, write: (buffer, value, at) => buffer.writeUInt8(value === true ? 1 : 0, at) - at },
  integer: { roomFor: () => 4, write: (buffer, value, at) => buffer.writeInt32BE(numberOf(value), at) - at },
  bigint: { roomFor: () => 8, write: (buffer, value, at) => writeInt64(buffer, numberOf(value), at) - at },
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
