import type { ListedVolume, ProvidedSnapshot } from '@waybill/csi';
import type { ExternalSnapshot, ExternalVolume } from '@waybill/rpc';

/** Caps a size at the largest integer that JSON shows exactly: 8 PiB (CW-8). */
export function jsonBytes(bytes: bigint): number {
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(bytes);
}

/** Returns a provider's volume as Waybill shows it (2.6). */
export function externalVolume(volume: ListedVolume): ExternalVolume {
  return {
    ExternalID: volume.volumeId,
    CapacityBytes: jsonBytes(volume.capacityBytes),
    VolumeContext: volume.context,
    CloneID: volume.cloneId,
    SnapshotID: volume.snapshotId,
    PublishedExternalNodeIDs: volume.publishedNodeIds,
    IsAbnormal: volume.isAbnormal,
    Status: volume.condition,
  };
}

export function externalSnapshot(snapshot: ProvidedSnapshot): ExternalSnapshot {
  return {
    ID: snapshot.snapshotId,
    ExternalSourceVolumeID: snapshot.sourceVolumeId,
    SizeBytes: jsonBytes(snapshot.sizeBytes),
    CreateTime: snapshot.createdAtSeconds,
    IsReady: snapshot.isReady,
  };
}
