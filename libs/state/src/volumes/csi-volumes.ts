import {
  type Allocation,
  type CSIPlugin,
  type CSIVolume,
  type CSIVolumeClaim,
  type CSIVolumeRegistration,
  formatErrors,
  isEmptyPlugin,
  isInUse,
  isTerminalAllocation,
  claimHoldersOf,
  volumeUpdateErrors,
  Refusal,
} from '@waybill/model';
import type { Appliers } from '../machine/applier.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { heldSince, isTaking, releaseClaim, takeClaim, withEndedClaims, withRetakenClaim } from './csi-claims.js';
import { withoutStaleJobs } from './plugin-jobs.js';
import { namespacedKey, restoredIndexOf, type Tables } from '../machine/tables.js';
import type { Txn } from '../log/txn.js';
import type { Write } from '../machine/write.js';

/** Appliers of CSI volumes, their claims, and the collection of plugins (section 3.4). */
export const csiVolumeAppliers: Appliers<
  'CSIVolumeRegister' | 'CSIVolumeDeregister' | 'CSIVolumeClaim' | 'CSIVolumeClaimBatch' | 'CSIPluginDelete'
> = {
  CSIVolumeRegister: (w, { Volumes }) => {
    for (const volume of Volumes) registerVolume(w, volume);
  },
  CSIVolumeDeregister: deregisterVolumes,
  CSIVolumeClaim: (w, step, txn) => claimVolume(w, txn.namespace, step),
  CSIVolumeClaimBatch: (w, { Claims }) => {
    for (const { Namespace, ...claim } of Claims) claimVolume(w, Namespace, claim);
  },
  CSIPluginDelete: deletePlugin,
};

/** The stored volume, with past claims for the claims of ended allocations (VL-141); undefined if it does not exist. */
export function volumeWithEndedClaims(tables: Tables, namespace: string, id: string): CSIVolume | undefined {
  const volume = tables.csi_volumes.get(namespacedKey(namespace, id));
  return volume && withEndedClaims(volume, (allocId) => tables.allocs.get(allocId));
}

/**
 * The reason why a release that began at state `asOf` must not continue; undefined: it may (VL-308). The allocation has
 * claimed the volume since, or a restore brought its claim back: that is another claim than the released one.
 */
export function whyReleaseIsOutdated(
  tables: Tables,
  volume: CSIVolume,
  allocId: string,
  asOf: number,
): string | undefined {
  if (heldSince(volume, allocId, restoredIndexOf(tables)) <= asOf) return undefined;
  return `alloc "${allocId}" has claimed volume "${volume.ID}" again`;
}

/**
 * Type 35: registers a volume. Claims that were made since the writer read the volume stay, and changes that they
 * exclude are refused (VL-300).
 */
function registerVolume(w: Write, given: CSIVolumeRegistration): void {
  if (!w.tables.namespaces.has(given.Namespace))
    throw new Refusal('invalid', `volume ${given.ID} is in nonexistent namespace ${given.Namespace}`);
  const stored = w.tables.csi_volumes.get(namespacedKey(given.Namespace, given.ID));
  if (stored) refuseConflict(stored, given);
  w.put('csi_volumes', {
    ...given,
    Topologies: stored || given.Topologies?.length ? given.Topologies : (given.RequestedTopologies?.Required ?? null),
    AccessMode: stored?.AccessMode ?? '',
    AttachmentMode: stored?.AttachmentMode ?? '',
    ReadClaims: stored?.ReadClaims ?? {},
    WriteClaims: stored?.WriteClaims ?? {},
    PastClaims: stored?.PastClaims ?? {},
    ResourceExhausted: stored?.ResourceExhausted ?? null,
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
    CreateTime: stored?.CreateTime ?? w.timeNs,
    ModifyTime: w.timeNs,
  });
}

/** Refuses changes that conflict with the stored volume (VL-24, VL-27 to VL-32). */
function refuseConflict(stored: CSIVolume, given: CSIVolumeRegistration): void {
  const isSameDisk =
    stored.ExternalID === given.ExternalID && stored.PluginID === given.PluginID && stored.Provider === given.Provider;
  if (!isSameDisk) throw new Refusal('invalid', `volume identity cannot be updated: ${given.ID}`);
  const errors = volumeUpdateErrors(stored, given);
  if (errors.length > 0) throw new Refusal('invalid', `unable to update volume: ${formatErrors(errors)}`);
}

/** Type 36: deregisters volumes, all or none (VL-56). Their namespace is the envelope's. */
function deregisterVolumes(
  w: Write,
  { VolumeIDs, Force }: TxnPayloads['CSIVolumeDeregister'],
  txn: Pick<Txn, 'namespace'>,
): void {
  for (const id of VolumeIDs) {
    const key = namespacedKey(txn.namespace, id);
    const volume = w.tables.csi_volumes.get(key);
    if (!volume) throw new Refusal('not-found', `volume not found: ${id}`);
    const keeps = Force
      ? claimHoldersOf(volume).some((holder) => isLive(w.tables.allocs.get(holder)))
      : isInUse(volume);
    if (keeps) throw new Refusal('conflict', `volume in use: ${id}`);
    w.remove('csi_volumes', key);
  }
}

const isLive = (alloc: Allocation | undefined): boolean => alloc !== undefined && !isTerminalAllocation(alloc);

/** Types 37 and 39: claims a volume, or takes a step of a release (VL-70, VL-73 to VL-92, VL-308). */
function claimVolume(
  w: Write,
  namespace: string,
  { VolumeID: id, Claim: claim, AsOf: asOf }: TxnPayloads['CSIVolumeClaim'],
): void {
  const stored = w.tables.csi_volumes.get(namespacedKey(namespace, id));
  const volume = volumeWithEndedClaims(w.tables, namespace, id);
  if (!stored || !volume) throw new Refusal('not-found', `volume not found: ${id}`);
  const wakes = claim.AllocationID === '';
  const next = wakes ? volume : claimed(w, volume, claim, asOf);
  if (next === stored && !wakes) return;
  w.put('csi_volumes', { ...next, ModifyIndex: w.index, ModifyTime: w.timeNs });
}

function claimed(w: Write, volume: CSIVolume, claim: CSIVolumeClaim, asOf: number | undefined): CSIVolume {
  if (isTaking(claim)) {
    const alloc = w.tables.allocs.get(claim.AllocationID);
    const plugin = w.tables.csi_plugins.get(volume.PluginID);
    if (asOf === undefined) return takeClaim(volume, claim, alloc, plugin);
    const taken = takeClaim(volume, { ...claim, TakenIndex: w.index }, alloc, plugin);
    return withRetakenClaim(taken, claim.AllocationID, restoredIndexOf(w.tables), w.index);
  }
  const outdated = asOf !== undefined && whyReleaseIsOutdated(w.tables, volume, claim.AllocationID, asOf);
  if (outdated) throw new Refusal('conflict', outdated);
  return releaseClaim(volume, claim);
}

/** Whether no machine runs the plugin, and no job requires it (GC-70). */
export const isUnusedPlugin = (tables: Tables, plugin: CSIPlugin): boolean =>
  isEmptyPlugin(withoutStaleJobs(tables, plugin));

/** Type 40: deletes a plugin; a missing plugin counts as deleted (VL-191). */
function deletePlugin(w: Write, { ID }: TxnPayloads['CSIPluginDelete']): void {
  const plugin = w.tables.csi_plugins.get(ID);
  if (!plugin) return;
  if (!isUnusedPlugin(w.tables, plugin)) throw new Refusal('conflict', 'plugin in use');
  w.remove('csi_plugins', ID);
}
