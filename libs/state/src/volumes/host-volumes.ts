import { type Allocation, type HostVolume, isClientTerminal, type Node, volumesAskedBy, Refusal } from '@waybill/model';
import type { Appliers } from '../machine/applier.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey, type Tables } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Appliers of dynamic host volumes, and of the claims of task groups on them (section 3.4). */
export const hostVolumeAppliers: Appliers<
  'HostVolumeRegister' | 'HostVolumeDelete' | 'TaskGroupHostVolumeClaimDelete'
> = {
  HostVolumeRegister: registerHostVolume,
  HostVolumeDelete: deleteHostVolume,
  TaskGroupHostVolumeClaimDelete: deleteClaim,
};

/** Type 75: registers a host volume. Its node reports where it is and whether it is ready (VL-289). */
function registerHostVolume(w: Write, { Volume: given }: TxnPayloads['HostVolumeRegister']): void {
  if (!w.tables.namespaces.has(given.Namespace))
    throw new Refusal('invalid', `host volume ${given.ID} is in nonexistent namespace ${given.Namespace}`);
  const node = w.tables.nodes.get(given.NodeID);
  if (!node) throw new Refusal('invalid', `host volume ${given.ID} has nonexistent node ID ${given.NodeID}`);
  const stored = w.tables.host_volumes.get(namespacedKey(given.Namespace, given.ID));
  w.put('host_volumes', {
    ...given,
    NodePool: node.NodePool,
    State: node.Status === 'ready' && reports(node, given) ? 'ready' : given.State,
    CreateIndex: stored?.CreateIndex ?? w.index,
    CreateTime: stored?.CreateTime ?? w.timeNs,
    ModifyIndex: w.index,
    ModifyTime: w.timeNs,
  });
}

/** Type 76: deletes a host volume; a missing one counts as deleted (VL-292). */
function deleteHostVolume(w: Write, { ID }: TxnPayloads['HostVolumeDelete'], txn: Pick<Txn, 'namespace'>): void {
  const key = namespacedKey(txn.namespace, ID);
  const volume = w.tables.host_volumes.get(key);
  if (!volume) return;
  const [user] = hostVolumeUsers(w.tables, volume);
  if (user) throw new Refusal('conflict', `could not delete volume ${ID} in use by alloc ${user.ID}`);
  w.remove('host_volumes', key);
}

/** Type 77: deletes the claim of a task group. */
function deleteClaim(
  w: Write,
  { ID }: TxnPayloads['TaskGroupHostVolumeClaimDelete'],
  txn: Pick<Txn, 'namespace'>,
): void {
  if (w.tables.task_volume.get(ID)?.Namespace !== txn.namespace)
    throw new Refusal('not-found', 'task group volume claim does not exist');
  w.remove('task_volume', ID);
}

/** Allocations that use the volume and may still run, oldest first (VL-292). O(allocations of its node). */
export function hostVolumeUsers(
  tables: Pick<Tables, 'allocs'>,
  volume: Pick<HostVolume, 'NodeID' | 'Namespace' | 'Name'>,
): Allocation[] {
  const users: Allocation[] = [];
  for (const alloc of tables.allocs.by('node', volume.NodeID)) if (usesHostVolume(alloc, volume)) users.push(alloc);
  return oldestFirst(users);
}

/** Whether an allocation of the volume's node uses it and may still run. */
export function usesHostVolume(alloc: Allocation, volume: Pick<HostVolume, 'Namespace' | 'Name'>): boolean {
  if (alloc.Namespace !== volume.Namespace || isClientTerminal(alloc)) return false;
  return volumesAskedBy(alloc, alloc.Job).some(
    ({ request, source }) => request.Type === 'host' && source === volume.Name,
  );
}

/**
 * Updates the host volumes of nodes that a transaction of any type has written (ST-35, GC-58). It reads only the
 * volumes of nodes whose report, status or pool has changed.
 */
export function settleHostVolumes(w: Write): void {
  if (w.tables.host_volumes.size === 0) return;
  for (const { before, after } of w.rowsWritten.filter((row) => row.table === 'nodes')) {
    if (before && after && keepsVolumes(before, after)) continue;
    for (const volume of oldestFirst(w.tables.host_volumes.by('node', after?.ID ?? before?.ID ?? ''))) {
      if (after) followNode(w, volume, after);
      else if (before?.GCVolumesOnNodeGC && hostVolumeUsers(w.tables, volume).length === 0)
        w.remove('host_volumes', namespacedKey(volume.Namespace, volume.ID));
    }
  }
}

const keepsVolumes = (before: Node, after: Node): boolean =>
  before.HostVolumes === after.HostVolumes && before.Status === after.Status && before.NodePool === after.NodePool;

function followNode(w: Write, volume: HostVolume, node: Node): void {
  const State = stateOn(node, volume);
  if (State === volume.State && node.NodePool === volume.NodePool) return;
  w.put('host_volumes', { ...volume, State, NodePool: node.NodePool, ModifyIndex: w.index, ModifyTime: w.timeNs });
}

/** State of a host volume, from its node's report and status (ST-35). */
function stateOn(node: Node, volume: HostVolume): HostVolume['State'] {
  if (!reports(node, volume)) return volume.State === 'ready' ? 'unavailable' : volume.State;
  if (node.Status === 'ready') return 'ready';
  return node.Status === 'down' ? 'unavailable' : volume.State;
}

/** Whether the node reports the volume under its name and ID (VL-289): a machine has at most one volume of a name. */
const reports = ({ HostVolumes }: Node, { Name, ID }: Pick<HostVolume, 'Name' | 'ID'>): boolean =>
  Object.hasOwn(HostVolumes, Name) && HostVolumes[Name]?.ID === ID;
