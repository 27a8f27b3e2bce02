import type { NodePool } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** Lists node pools (CL-531). */
export const nodePoolTable = (pools: readonly NodePool[]): string =>
  table([['Name', 'Description'], ...pools.map(({ Name, Description }) => [Name, Description])]);

/** Finds the pool with this name, or the only one with this prefix (CL-157). @throws CommandFailure */
export async function resolveNodePool({ api }: Pick<Call, 'api'>, given: string): Promise<NodePool> {
  const { value } = await api.get<NodePool[] | null>('/v1/node/pools', { prefix: given }).catch((error: unknown) => {
    throw failed('retrieving node pool', error);
  });
  const pools = value ?? [];
  const found = pools.find(({ Name }) => Name === given) ?? pools[0];
  if (!found) throw new CommandFailure(`No node pool with prefix "${given}" found`);
  if (found.Name === given || pools.length === 1) return found;
  throw new CommandFailure(`Prefix matched multiple node pools\n\n${nodePoolTable(pools)}`);
}
