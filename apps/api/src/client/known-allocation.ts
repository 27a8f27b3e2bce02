import type { Allocation } from '@waybill/model';
import type { RequestAccess } from '../access/request-access.js';
import type { ReadModel } from '@waybill/projection';
import { badRequest, notFound } from '../http/api-error.js';

/**
 * Reads a stored allocation whose node is stored too, so that the node can be asked about it (JR-953).
 * @throws Refusal not-found (API-194), invalid if the ID is empty (API-197), forbidden
 */
export async function knownAllocation(
  model: Pick<ReadModel, 'allocation' | 'node'>,
  given: string,
  access: RequestAccess,
): Promise<Allocation> {
  if (given === '') throw badRequest('must provide a valid alloc id');
  const row = access.visible((await model.allocation(given.toLowerCase())).row);
  if (!row) throw notFound(`Unknown allocation "${given}"`);
  const { row: node } = await model.node(row.NodeID);
  if (!node) throw notFound(`Unknown node ${row.NodeID}`);
  return row;
}
