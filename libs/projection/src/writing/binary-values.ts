/** Types of columns that are sent in binary form. */
export type BinaryType = 'boolean' | 'bigint' | 'integer' | 'text' | 'json' | 'varchar';

export type BinaryValue = string | number | boolean;

/** The encoding of a type. Both functions throw TypeError for a value of another type. */
export interface BinaryForm {
  /** Returns the most bytes that the value can need. */
  readonly roomFor: (value: BinaryValue) => number;
  /** Writes the value and returns its bytes. @throws RangeError if an `integer` has more than 32 bits */
  readonly write: (buffer: Buffer, value: BinaryValue, at: number) => number;
}

const TEXT: BinaryForm = {
  roomFor: (value) => {
    const text = textOf(value);
    return text.length > MAX_SHORT_LENGTH ? Buffer.byteLength(text) : text.length * MAX_BYTES_PER_UNIT;
  },
  write: (buffer, value, at) => {
    const text = textOf(value);
    return text.length > MAX_SHORT_LENGTH || !writeAscii(buffer, text, at) ? buffer.write(text, at) : text.length;
  },
};

export const BINARY_FORMS: { readonly [T in BinaryType]: BinaryForm } = {
  boolean: { roomFor: () => 1, write: (buffer, value, at) => buffer.writeUInt8(value === true ? 1 : 0, at) - at },
  integer: { roomFor: () => 4, write: (buffer, value, at) => buffer.writeInt32BE(numberOf(value), at) - at },
  bigint: { roomFor: () => 8, write: (buffer, value, at) => writeInt64(buffer, numberOf(value), at) - at },
  text: TEXT,
  json: TEXT,
  varchar: TEXT,
};

const LENGTH_BYTES = 4;
/** Length of a null value. */
const NULL_LENGTH = -1;

/** Returns the most bytes of a value with its length. */
export const roomWithLength = (form: BinaryForm, value: BinaryValue | null): number =>
  value === null ? LENGTH_BYTES : LENGTH_BYTES + form.roomFor(value);

/** Writes the value after its length, as in arrays and rows, and returns the position after it. */
export function writeWithLength(form: BinaryForm, buffer: Buffer, value: BinaryValue | null, at: number): number {
  const length = value === null ? NULL_LENGTH : form.write(buffer, value, at + LENGTH_BYTES);
  buffer.writeInt32BE(length, at);
  return at + LENGTH_BYTES + Math.max(0, length);
}

/** Keys and statuses are short, and writing them here takes a third of the time of a call for each. */
const MAX_SHORT_LENGTH = 40;
/** Most bytes in UTF-8 of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** @returns false if the text is not ASCII; then the written bytes are invalid */
function writeAscii(buffer: Buffer, text: string, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    buffer[at + i] = unit;
  }
  return true;
}

const HIGH = 2 ** 32;

/** Writes a high and a low half instead of creating a BigInt for each number. */
function writeInt64(buffer: Buffer, value: number, at: number): number {
  const high = Math.floor(value / HIGH);
  buffer.writeInt32BE(high, at);
  return buffer.writeUInt32BE(value - high * HIGH, at + 4);
}

function textOf(value: BinaryValue): string {
  if (typeof value !== 'string') throw new TypeError(`${typeof value} in a column of texts`);
  return value;
}

function numberOf(value: BinaryValue): number {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw new TypeError(`${String(value)} in a column of integers`);
  return value;
}
