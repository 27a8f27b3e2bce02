import { ALL_NODES_POOL, type HostVolume, meetsConstraint, type Node } from '@waybill/model';
import { compareText, type Tables } from '@waybill/state';
import { VolumeStepError } from '../commands/errors.js';

type Sought = Pick<HostVolume, 'Name' | 'PluginID' | 'NodeID' | 'NodePool' | 'Constraints'>;

/**
 * The machine for a new volume (VL-288): the requested one, or else the first of the pool that can create it and has no
 * volume of its name, eligible or not. O(nodes · log nodes), once for each new volume.
 * @throws VolumeStepError
 */
export function placeHostVolume(tables: Pick<Tables, 'nodes' | 'host_volumes'>, volume: Sought): Node {
  const failed = (why: string): VolumeStepError =>
    new VolumeStepError(`could not place volume "${volume.Name}": ${why}`);
  if (volume.NodeID !== '') {
    const node = tables.nodes.get(volume.NodeID);
    if (!node || !canMake(node, volume)) throw failed(`node ${volume.NodeID} is not feasible for volume`);
    return node;
  }
  let existing = 0;
  let infeasible = 0;
  for (const node of [...tables.nodes.all()].toSorted((a, b) => compareText(a.ID, b.ID))) {
    if (!isOfPool(node, volume.NodePool)) continue;
    if (hasVolumeOfName(tables, node, volume.Name)) existing++;
    else if (node.Status !== 'ready' || !canMake(node, volume)) infeasible++;
    else return node;
  }
  // Waybill has no pool rules that exclude a node here, so their count is always 0.
  const counts = `${existing} nodes had existing volume, 0 nodes filtered by node pool governance, ${infeasible} nodes were infeasible`;
  throw failed(`no node meets constraints: ${counts}`);
}

function canMake(node: Node, { PluginID, Constraints }: Sought): boolean {
  if (!Object.hasOwn(node.Attributes, `plugins.host_volume.${PluginID}.version`)) return false;
  return (Constraints ?? []).every((constraint) => meetsConstraint(constraint, node));
}

/** Whether the node reported a volume of this name, or one is recorded for the node. */
function hasVolumeOfName(tables: Pick<Tables, 'host_volumes'>, node: Node, name: string): boolean {
  if (Object.hasOwn(node.HostVolumes, name)) return true;
  for (const { Name } of tables.host_volumes.by('node', node.ID)) if (Name === name) return true;
  return false;
}

const isOfPool = (node: Node, pool: string): boolean =>
  pool === '' || pool === ALL_NODES_POOL || node.NodePool === pool;
