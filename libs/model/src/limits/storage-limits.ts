/**
 * Limits of the data that the projections can store. The state machine refuses a transaction beyond them from any
 * author, because nobody could read its rows and the projector would be stuck.
 *
 * They are exactly the projections' own limits, so a log that was written under other limits for names replays
 * unchanged. They must never change, because the same log would then lead to another state.
 */

/**
 * Bytes of all texts in one key of an index, in PostgreSQL's storage form (`storedBytes`). Its B-trees accept rows of
 * 2,704 bytes, and the remainder is room for a row's header, its numbers and their alignment. PostgreSQL compresses a
 * key before it measures it, but the result depends on its settings, and all replicas must refuse the same
 * transactions.
 */
export const MAX_INDEX_KEY_BYTES = 2_600;

/**
 * Characters of a W3C trace context. Version 00 has 55, and later versions may have more. An index contains it, so a
 * longer one, which no tracer writes, is left out.
 */
export const MAX_TRACEPARENT_CHARS = 256;

/** Range of 32-bit integers, PostgreSQL's `integer`. */
export const MIN_INTEGER = -(2 ** 31);
export const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Range of 64-bit integers, PostgreSQL's `bigint`. 2^63 is outside, and the largest JavaScript number below it is 2^63
 * - 1024.
 */
export const MIN_BIGINT = -(2 ** 63);
export const MAX_BIGINT = 2 ** 63 - 1_024;

/**
 * Bytes of a mark. A unit of UTF-16 that PostgreSQL's text cannot hold is stored as a mark of three bytes and four
 * digits.
 */
const MARKED_BYTES = 7;
/** Units that are stored as marks: NUL, halves of surrogate pairs, and the mark itself. */
// oxlint-disable-next-line no-control-regex
const MARKED = /\0|\ue000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
/** Bytes in UTF-8 of the mark itself, and of the replacement for half a surrogate pair. */
const UNMARKED_BYTES = 3;

/** Returns the bytes of a text in its stored form. */
export function storedBytes(text: string): number {
  let bytes = Buffer.byteLength(text);
  for (const [unit] of text.matchAll(MARKED)) bytes += MARKED_BYTES - (unit === '\0' ? 1 : UNMARKED_BYTES);
  return bytes;
}

/** Units of UTF-16 that fit into a key in every case. */
export const MAX_UNMEASURED_UNITS = Math.floor(MAX_INDEX_KEY_BYTES / MARKED_BYTES);

/** Whether the texts fit into one key of an index together. */
export function fitIndexKey(texts: readonly string[]): boolean {
  let units = 0;
  for (const text of texts) units += text.length;
  if (units <= MAX_UNMEASURED_UNITS) return true;
  return texts.reduce((bytes, text) => bytes + storedBytes(text), 0) <= MAX_INDEX_KEY_BYTES;
}

/** Whether a number is an integer that a 64-bit column can hold. */
export const isStorableBigint = (value: number): boolean =>
  Number.isInteger(value) && value >= MIN_BIGINT && value <= MAX_BIGINT;

/** Whether a number is an integer that a 32-bit column can hold. */
export const isStorableInteger = (value: number): boolean =>
  Number.isInteger(value) && value >= MIN_INTEGER && value <= MAX_INTEGER;
