import type { Tables } from '@waybill/state';
import type { Machine } from '../world/machine.js';

/**
 * At rest, in words: a volume that can be used has its directory (VL-289), and there is no directory that the log does not
 * know of. One that is pending may have been made or not: nobody could say. Undefined: all agree.
 */
export function strayHostVolume(tables: Tables, machines: readonly Machine[]): string | undefined {
  const known = new Set<string>();
  for (const { ID, NodeID, State } of tables.host_volumes.all()) {
    known.add(ID);
    if (State !== 'ready') continue;
    const machine = machines.find(({ node }) => node.ID === NodeID);
    if (!machine?.volumes.made.has(ID)) return `host volume ${ID} is ready and is not on ${machine?.name ?? NodeID}`;
  }
  for (const { name, volumes } of machines)
    for (const id of volumes.made)
      if (!known.has(id)) return `${name} has a directory for ${id}, which nobody knows of`;
  return undefined;
}
