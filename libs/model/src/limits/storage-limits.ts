/**
 * What the projections can store at all. The state machine refuses a transaction beyond these limits, whoever wrote it:
 * nobody could read its rows, and the projector could not go on.
 *
 * They are the projections' own limits and no tighter, so that a log written under other limits for names replays as
 * before. They never change: another limit would make another state of the same log.
 */

/**
 * Bytes of all texts in one key of an index, as PostgreSQL stores them (`storedBytes`). Its B-trees take rows of 2,704
 * bytes; the rest is room for a row's header, its numbers and their alignment. PostgreSQL compresses a key before it
 * measures it, but how well depends on its settings, and the same transaction must be refused everywhere.
 */
export const MAX_INDEX_KEY_BYTES = 2_600;

/**
 * Characters of a W3C trace context. Version 00 has 55, later ones may have more. An index finds transactions by it, so
 * that a longer one, which no tracer writes, is left out.
 */
export const MAX_TRACEPARENT_CHARS = 256;

/** Whole numbers of 32 bits, as `integer` has them. */
export const MIN_INTEGER = -(2 ** 31);
export const MAX_INTEGER = 2 ** 31 - 1;

/**
 * Whole numbers of 64 bits, as `bigint` has them. 2^63 is beyond them, and the number before it that JavaScript knows is
 * 2^63 - 1024.
 */
export const MIN_BIGINT = -(2 ** 63);
export const MAX_BIGINT = 2 ** 63 - 1_024;

/** A unit of UTF-16 that PostgreSQL's text cannot hold is stored as a mark of three bytes and four digits. */
const MARKED_BYTES = 7;
/** What is marked: NUL, halves of surrogate pairs, and the mark itself. */
// oxlint-disable-next-line no-control-regex
const MARKED = /\0|\ue000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
/** UTF-8 has three bytes for the mark, and for the replacement of half a pair. */
const UNMARKED_BYTES = 3;

/** Bytes of a text as it stands in a column. */
export function storedBytes(text: string): number {
  let bytes = Buffer.byteLength(text);
  for (const [unit] of text.matchAll(MARKED)) bytes += MARKED_BYTES - (unit === '\0' ? 1 : UNMARKED_BYTES);
  return bytes;
}

/** Units of UTF-16 that fit into a key whatever they are. */
export const MAX_UNMEASURED_UNITS = Math.floor(MAX_INDEX_KEY_BYTES / MARKED_BYTES);

/** Whether texts fit into one key of an index together. */
export function fitIndexKey(texts: readonly string[]): boolean {
  let units = 0;
  for (const text of texts) units += text.length;
  if (units <= MAX_UNMEASURED_UNITS) return true;
  return texts.reduce((bytes, text) => bytes + storedBytes(text), 0) <= MAX_INDEX_KEY_BYTES;
}

/** Whether a number is one of the whole numbers that a column of 64 bits holds. */
export const isStorableBigint = (value: number): boolean =>
  Number.isInteger(value) && value >= MIN_BIGINT && value <= MAX_BIGINT;

/** Whether a number is one of the whole numbers that a column of 32 bits holds. */
export const isStorableInteger = (value: number): boolean =>
  Number.isInteger(value) && value >= MIN_INTEGER && value <= MAX_INTEGER;
