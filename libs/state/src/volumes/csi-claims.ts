import { isDeepStrictEqual } from 'node:util';
import {
  type Allocation,
  CLAIM_MODE,
  CLAIM_STATE,
  type CSIPlugin,
  type CSIVolume,
  type CSIVolumeClaim,
  hasFreeReadClaim,
  hasFreeWriteClaim,
  isClientTerminal,
  isReadSchedulable,
  isWriteSchedulable,
  Refusal,
  type RefusalCode,
} from '@waybill/model';

/*
 * The claim state machine of one volume (3.9), as functions from volume to volume. A claim is taken, becomes a past
 * claim when its allocation has ended, moves on by checkpoints (unpublishing → node-detached → ready-to-free), and is
 * then removed. Until it is freed it also stays a read or write claim, so that its place is not given to another
 * allocation (VL-83). If nothing changes, each function returns the same object, so that nothing is written (VL-124).
 */

type Claims = Record<string, CSIVolumeClaim>;

/** Whether the claim is a new one; every other claim is a step of a release (VL-89). */
export function isTaking(claim: Pick<CSIVolumeClaim, 'State' | 'Mode'>): boolean {
  return claim.State === CLAIM_STATE.taken && claim.Mode !== CLAIM_MODE.gc;
}

/**
 * The volume with the new claim (VL-73 to VL-78, VL-80 to VL-88).
 * @param alloc the claim's allocation, if it exists
 * @throws Refusal with the text for the agent
 */
export function takeClaim(
  volume: CSIVolume,
  claim: CSIVolumeClaim,
  alloc: Pick<Allocation, 'ID'> | undefined,
  plugin: CSIPlugin | undefined,
): CSIVolume {
  const { AllocationID: id, AttachmentMode } = claim;
  if (volume.AttachmentMode && AttachmentMode && volume.AttachmentMode !== AttachmentMode)
    throw new Refusal('conflict', 'cannot change attachment mode of claimed volume');
  const isRead = claim.Mode === CLAIM_MODE.read;
  if (Object.hasOwn(isRead ? volume.ReadClaims : volume.WriteClaims, id)) return volume;
  if (!alloc) throw new Refusal('not-found', `allocation missing: ${id}`);
  const failed = (code: RefusalCode, why: string) =>
    new Refusal(code, `alloc "${id}" failed to claim volume "${volume.ID}": ${why}`);
  if (!(isRead ? isReadSchedulable : isWriteSchedulable)(volume, plugin))
    throw failed('conflict', 'volume is currently unschedulable');
  if (!(isRead ? hasFreeReadClaim : hasFreeWriteClaim)(volume)) throw failed('full', 'volume max claims reached');
  const rest = { ReadClaims: without(volume.ReadClaims, id), WriteClaims: without(volume.WriteClaims, id) };
  return {
    ...volume,
    ...rest,
    ...(isRead
      ? { ReadClaims: { ...rest.ReadClaims, [id]: claim } }
      : { WriteClaims: { ...rest.WriteClaims, [id]: claim } }),
    PastClaims: without(volume.PastClaims, id),
    AccessMode: volume.AccessMode || claim.AccessMode,
    AttachmentMode: volume.AttachmentMode || AttachmentMode,
  };
}

/**
 * Index since when the allocation has its claim: it was taken, or restored from an archive (VL-308). 0: it has none, or
 * one from before claims were distinguished.
 * @param restoredIndex index of the last restore, 0 if there was none
 */
export function heldSince(volume: CSIVolume, allocId: string, restoredIndex: number): number {
  const claim = own(volume.ReadClaims, allocId) ?? own(volume.WriteClaims, allocId);
  return claim ? Math.max(claim.TakenIndex ?? 0, restoredIndex) : 0;
}

/**
 * The volume without the archive's records of a release of the allocation's claim, and with that claim as taken at
 * `index`: an allocation that claims the volume after a restore has it anew (VL-308). The same object if the claim was
 * taken since, or does not exist.
 * @param restoredIndex index of the last restore, 0 if there was none
 */
export function withRetakenClaim(volume: CSIVolume, id: string, restoredIndex: number, index: number): CSIVolume {
  const renewed = (claims: Claims): Claims => {
    const claim = own(claims, id);
    return claim && (claim.TakenIndex ?? 0) < restoredIndex
      ? { ...claims, [id]: { ...claim, TakenIndex: index } }
      : claims;
  };
  const ReadClaims = renewed(volume.ReadClaims);
  const WriteClaims = renewed(volume.WriteClaims);
  if (ReadClaims === volume.ReadClaims && WriteClaims === volume.WriteClaims) return volume;
  return { ...volume, ReadClaims, WriteClaims, PastClaims: without(volume.PastClaims, id) };
}

/** The volume after a step of a claim's release (VL-85, VL-89, VL-92, VL-105). */
export function releaseClaim(volume: CSIVolume, claim: CSIVolumeClaim): CSIVolume {
  const id = claim.AllocationID;
  if (claim.State === CLAIM_STATE.readyToFree) return freed(volume, id);
  const stored = own(volume.PastClaims, id);
  const known = stored ?? own(volume.ReadClaims, id) ?? own(volume.WriteClaims, id);
  const past: CSIVolumeClaim = {
    AllocationID: id,
    NodeID: claim.NodeID || (known?.NodeID ?? ''),
    ExternalNodeID: claim.ExternalNodeID || (known?.ExternalNodeID ?? ''),
    Mode: claim.Mode,
    AccessMode: claim.AccessMode || (known?.AccessMode ?? ''),
    AttachmentMode: claim.AttachmentMode || (known?.AttachmentMode ?? ''),
    State: claim.State === CLAIM_STATE.taken ? CLAIM_STATE.unpublishing : claim.State,
  };
  if (isDeepStrictEqual(stored, past)) return volume;
  return { ...volume, PastClaims: { ...volume.PastClaims, [id]: past } };
}

/**
 * The volume with a past claim for every claim whose allocation was deleted, or ended by its agent's report (VL-68,
 * VL-69). An allocation that was only told to stop may still run and use the disk. O(claims).
 */
export function withEndedClaims(
  volume: CSIVolume,
  allocOf: (id: string) => Pick<Allocation, 'ClientStatus'> | undefined,
): CSIVolume {
  const ended: Claims = {};
  for (const claims of [volume.ReadClaims, volume.WriteClaims]) {
    for (const [id, claim] of Object.entries(claims)) {
      if (Object.hasOwn(volume.PastClaims, id)) continue;
      const alloc = allocOf(id);
      if (!alloc || isClientTerminal(alloc)) ended[id] = endedOf(claim);
    }
  }
  if (Object.keys(ended).length === 0) return volume;
  return { ...volume, PastClaims: { ...volume.PastClaims, ...ended } };
}

/**
 * The volume without past claims of allocations that have a claim and have not ended: these are released again when
 * they end (VL-309). The same object if there are none. O(claims).
 */
export function withoutReleasesOfLive(
  volume: CSIVolume,
  allocOf: (id: string) => Pick<Allocation, 'ClientStatus'> | undefined,
): CSIVolume {
  const isOver = (id: string): boolean => {
    if (!Object.hasOwn(volume.ReadClaims, id) && !Object.hasOwn(volume.WriteClaims, id)) return true;
    const alloc = allocOf(id);
    return !alloc || isClientTerminal(alloc);
  };
  const past = Object.entries(volume.PastClaims);
  const kept = past.filter(([id]) => isOver(id));
  return kept.length === past.length ? volume : { ...volume, PastClaims: Object.fromEntries(kept) };
}

function endedOf(claim: CSIVolumeClaim): CSIVolumeClaim {
  const { TakenIndex: _, ...kept } = claim;
  return { ...kept, State: CLAIM_STATE.unpublishing };
}

function freed(volume: CSIVolume, id: string): CSIVolume {
  const left = {
    ReadClaims: without(volume.ReadClaims, id),
    WriteClaims: without(volume.WriteClaims, id),
    PastClaims: without(volume.PastClaims, id),
  };
  const isUnchanged =
    left.ReadClaims === volume.ReadClaims &&
    left.WriteClaims === volume.WriteClaims &&
    left.PastClaims === volume.PastClaims;
  if (isUnchanged) return volume;
  const isUnclaimed = Object.values(left).every((claims) => Object.keys(claims).length === 0);
  return { ...volume, ...left, ...(isUnclaimed && { AccessMode: '', AttachmentMode: '' }) };
}

const own = (claims: Claims, id: string): CSIVolumeClaim | undefined =>
  Object.hasOwn(claims, id) ? claims[id] : undefined;

/** The claims without those of this allocation; the same object if there are none. */
function without(claims: Claims, id: string): Claims {
  if (!Object.hasOwn(claims, id)) return claims;
  const { [id]: _, ...rest } = claims;
  return rest;
}
