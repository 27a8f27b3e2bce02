import type { Found, Listed } from '@waybill/projection';
import type { RequestAccess } from '../access/request-access.js';

/** What one run of a read gives. */
export interface ReadResult {
  /** What the client may send back as `index` (API-54). */
  readonly index: number;
  /** Encoded for the client; undefined: not found. */
  readonly value: unknown;
  readonly nextToken?: string | undefined;
  /** Of the object, where whoever may see that namespace may see it. */
  readonly namespace?: string | undefined;
}

/** One object, as clients see it; `encode`: how, where that is not as it is stored. */
export async function found<Row>(
  read: Promise<Found<Row>>,
  encode: (row: Row) => unknown = (row) => row,
): Promise<ReadResult> {
  const { index, row } = await read;
  return { index, value: row && encode(row) };
}

/** One object and its namespace, for `CachedObject.shownTo` to decide who sees it (OP-141, OP-142). */
export async function foundInNamespace<Row extends { readonly Namespace: string }>(
  read: Promise<Found<Row>>,
  encode: (row: Row) => unknown,
): Promise<ReadResult> {
  const { index, row } = await read;
  return { index, value: row && encode(row), namespace: row?.Namespace };
}

/** A list, or a page of it, each row as clients see it; `encode`: how, where that is not as it is stored. */
export async function listed<Row>(
  read: Promise<Listed<Row>>,
  encode: (row: Row) => unknown = (row) => row,
): Promise<ReadResult> {
  const { index, rows, nextToken } = await read;
  return { index, nextToken, value: rows.map((row) => encode(row)) };
}

/**
 * A list of what belongs to one object, less what lies in namespaces that the caller may not see.
 * @throws Refusal forbidden when nothing is left and the caller may not look in the namespace of the request either
 */
export async function listedVisible<Row extends { readonly Namespace: string }>(
  access: RequestAccess,
  read: Promise<Listed<Row>>,
  encode: (row: Row) => unknown,
): Promise<ReadResult> {
  const { index, rows, nextToken } = await read;
  return { index, nextToken, value: access.allVisible(rows).map((row) => encode(row)) };
}

/**
 * Some lists have at least index 1, so that a client that sends it back as `index` waits for the first row (API-54).
 */
export const neverZero = (result: ReadResult): ReadResult => ({ ...result, index: Math.max(1, result.index) });
