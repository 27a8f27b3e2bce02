import type { Allocation } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import { notFound } from '../http/api-error.js';

/** @throws ApiError 404 (API-194) */
export async function knownAllocation(model: ReadModel, given: string): Promise<Allocation> {
  const { row } = await model.allocation(given.toLowerCase());
  if (!row) throw notFound(`Unknown allocation "${given}"`);
  return row;
}
