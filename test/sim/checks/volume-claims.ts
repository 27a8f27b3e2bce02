import {
  type Allocation,
  CLAIM_STATE,
  type CSIVolume,
  type CSIVolumeClaim,
  isClientTerminal,
  isTerminalAllocation,
  remoteIdOf,
} from '@waybill/model';
import type { Applied, Tables } from '@waybill/state';
import type { Machine } from '../world/machine.js';
import type { StorageProvider } from '../world/storage-provider.js';
import type { ReferenceState } from './reference-state.js';
import { isRestore } from './restores.js';
import type { Report } from './violation.js';

/**
 * Claims and disks agree: a claim goes only after its disk was given back (VL-105), none goes while the tasks of its
 * allocation run on a machine that the servers have not given up, and no such allocation loses its disk.
 */
export class VolumeClaims {
  /** Claims that have been on the way back; another try may begin anew with them (VL-123). */
  private readonly detachedOnce = new Set<string>();

  constructor(
    private readonly reference: ReferenceState,
    provider: StorageProvider,
    private readonly machines: readonly Machine[],
    private readonly report: Report,
  ) {
    reference.onApplied((applied) => this.applied(applied));
    provider.onDetached((volumeId, machine) => this.detached(volumeId, machine));
  }

  private applied(applied: Applied): void {
    if (isRestore(applied)) return this.restored();
    const { changes, index } = applied;
    for (const change of changes) {
      if (change.table !== 'csi_volumes' || !change.before) continue;
      const left = change.after ? claimsOf(change.after) : new Map<string, CSIVolumeClaim>();
      for (const [id, claim] of claimsOf(change.before)) {
        const key = `${change.key} ${id}`;
        const stage = change.after?.PastClaims[id]?.State;
        if (stage !== undefined && stage !== CLAIM_STATE.unpublishing) this.detachedOnce.add(key);
        if (left.has(id)) continue;
        const where = `at index ${index}, volume ${change.before.ID}, allocation ${id}`;
        if (!this.detachedOnce.delete(key)) this.report('claim-freed-in-order', `${where}: it was not given back`);
        if (this.isHeld(claim)) this.report('claim-freed-early', `${where}: its tasks run`);
      }
    }
  }

  /** What a restore takes back was given back or not; how far the others are is what the restored rows say. */
  private restored(): void {
    this.detachedOnce.clear();
    for (const [key, { PastClaims }] of this.reference.machine.tables.csi_volumes.entries())
      for (const [id, { State }] of Object.entries(PastClaims))
        if (State !== CLAIM_STATE.unpublishing) this.detachedOnce.add(`${key} ${id}`);
  }

  private detached(remoteId: string, machine: string): void {
    for (const volume of this.reference.machine.tables.csi_volumes.all()) {
      if (remoteIdOf(volume) !== remoteId) continue;
      for (const [id, claim] of claimsOf(volume))
        if (this.machineOf(claim)?.name === machine && !volume.PastClaims[id] && this.isHeld(claim))
          this.report('disk-taken-away', `volume ${volume.ID} from ${machine}, where allocation ${id} runs`);
    }
  }

  /** Its tasks run, and the servers have not given up their machine. */
  private isHeld({ AllocationID, NodeID }: CSIVolumeClaim): boolean {
    const { tables } = this.reference.machine;
    const alloc = tables.allocs.get(AllocationID);
    const node = tables.nodes.get(NodeID);
    if (!alloc || isClientTerminal(alloc) || !node || node.Status === 'down') return false;
    return this.machineOf({ NodeID })?.runs(AllocationID) === true;
  }

  private machineOf({ NodeID }: Pick<CSIVolumeClaim, 'NodeID'>): Machine | undefined {
    return this.machines.find(({ node }) => node.ID === NodeID);
  }
}

const claimsOf = ({ ReadClaims, WriteClaims }: CSIVolume): Map<string, CSIVolumeClaim> =>
  new Map([...Object.entries(ReadClaims), ...Object.entries(WriteClaims)]);

/** Its machine said that it had ended, and later that it runs (ND-110): the disk stays with it until it ends. */
const isLive = (alloc: Allocation | undefined): boolean => alloc !== undefined && !isTerminalAllocation(alloc);

/** A claim that must still end, in words: nobody uses the disk any more. */
export function openClaim(tables: Tables): string | undefined {
  for (const volume of tables.csi_volumes.all()) {
    const [past] = Object.keys(volume.PastClaims).filter((id) => !isLive(tables.allocs.get(id)));
    if (past !== undefined) return `the claim of allocation ${past} on volume ${volume.ID} is being given back`;
    for (const id of claimsOf(volume).keys()) {
      const alloc = tables.allocs.get(id);
      if (!alloc || isClientTerminal(alloc)) return `allocation ${id} is over and claims volume ${volume.ID}`;
    }
  }
  return undefined;
}
