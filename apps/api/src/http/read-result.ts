import type { Found, Listed } from '@waybill/projection';
import type { RequestAccess } from '../access/request-access.js';

/** ReadResult is the result of one run of a read. */
export interface ReadResult {
  /** The index that the client may send back as `index` (API-54). */
  readonly index: number;
  /** The value as it is encoded for the client. It is undefined if there is no such object. */
  readonly value: unknown;
  readonly nextToken?: string | undefined;
  /** The namespace of the object, if callers with access to the namespace may see it. */
  readonly namespace?: string | undefined;
}

/** Reads one object in its form for clients. `encode` converts the stored form if it differs. */
export async function found<Row>(
  read: Promise<Found<Row>>,
  encode: (row: Row) => unknown = (row) => row,
): Promise<ReadResult> {
  const { index, row } = await read;
  return { index, value: row && encode(row) };
}

/** Reads one object with its namespace, from which `CachedObject.shownTo` decides who may see it (OP-141, OP-142). */
export async function foundInNamespace<Row extends { readonly Namespace: string }>(
  read: Promise<Found<Row>>,
  encode: (row: Row) => unknown,
): Promise<ReadResult> {
  const { index, row } = await read;
  return { index, value: row && encode(row), namespace: row?.Namespace };
}

/** Reads a list or a page of it, each row in its form for clients. `encode` converts the stored form if it differs. */
export async function listed<Row>(
  read: Promise<Listed<Row>>,
  encode: (row: Row) => unknown = (row) => row,
): Promise<ReadResult> {
  const { index, rows, nextToken } = await read;
  return { index, nextToken, value: rows.map((row) => encode(row)) };
}

/**
 * Reads a list of what belongs to one object, without rows in namespaces that the caller may not see.
 * @throws Refusal forbidden if nothing is left and the caller has no access to the namespace of the request either
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
 * Raises the index to at least 1. Some lists need it, so that a client that sends it back as `index` waits for the
 * first row. [API-54]
 */
export const neverZero = (result: ReadResult): ReadResult => ({ ...result, index: Math.max(1, result.index) });
