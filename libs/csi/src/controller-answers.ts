import { CsiAnswerError } from './errors.js';
import { type VolumeUse, volumeUseOf, type WireVolumeCapability } from './volume-capability.js';

const INVALID_ENTRY = 'plugin returned an invalid entry';

/** A volume in the provider's description. */
export interface ProvidedVolume {
  readonly volumeId: string;
  /** In bytes. 0 if unknown. */
  readonly capacityBytes: bigint;
  readonly context: Readonly<Record<string, string>>;
  /** The volume or snapshot from which it was created. Empty for none. */
  readonly cloneId: string;
  readonly snapshotId: string;
  /** Topologies where the volume can be reached. Empty if it can be reached everywhere. */
  readonly topologies: readonly Readonly<Record<string, string>>[];
}

export interface ListedVolume extends ProvidedVolume {
  readonly publishedNodeIds: readonly string[];
  readonly isAbnormal: boolean;
  /** The reason, for people. */
  readonly condition: string;
}

export interface ProvidedSnapshot {
  readonly snapshotId: string;
  readonly sourceVolumeId: string;
  /** Minimum size in bytes of a volume created from it. 0 if unknown. */
  readonly sizeBytes: bigint;
  /** In unix seconds. */
  readonly createdAtSeconds: number;
  readonly isReady: boolean;
}

export interface Paged<T> {
  readonly entries: readonly T[];
  /** Empty on the last page. */
  readonly nextToken: string;
}

/** The confirmed part of the request. Undefined if the plugin did not confirm all of it (except as in VL-20). */
export interface Validation {
  readonly confirmed:
    | { readonly uses: readonly VolumeUse[]; readonly context: Readonly<Record<string, string>> }
    | undefined;
  readonly message: string;
}

export interface WireVolume {
  readonly volume_id: string;
  readonly capacity_bytes: string;
  readonly volume_context: Readonly<Record<string, string>>;
  readonly content_source: {
    readonly snapshot: { readonly snapshot_id: string } | null;
    readonly volume: { readonly volume_id: string } | null;
  } | null;
  readonly accessible_topology: readonly { readonly segments: Readonly<Record<string, string>> }[];
}
export interface WireVolumeEntry {
  readonly volume: WireVolume | null;
  readonly status: {
    readonly published_node_ids: readonly string[];
    readonly volume_condition: { readonly abnormal: boolean; readonly message: string } | null;
  } | null;
}
export interface WireSnapshot {
  readonly snapshot_id: string;
  readonly source_volume_id: string;
  readonly size_bytes: string;
  readonly creation_time: { readonly seconds: string } | null;
  readonly ready_to_use: boolean;
}
export interface WireSnapshotEntry {
  readonly snapshot: WireSnapshot | null;
}
export interface WireValidation {
  readonly confirmed: {
    readonly volume_capabilities: readonly WireVolumeCapability[];
    readonly volume_context: Readonly<Record<string, string>>;
  } | null;
  readonly message: string;
}

export function volumeOf(volume: WireVolume): ProvidedVolume {
  return {
    volumeId: volume.volume_id,
    capacityBytes: BigInt(volume.capacity_bytes),
    context: volume.volume_context,
    cloneId: volume.content_source?.volume?.volume_id ?? '',
    snapshotId: volume.content_source?.snapshot?.snapshot_id ?? '',
    topologies: volume.accessible_topology.map(({ segments }) => segments),
  };
}

/** @throws CsiAnswerError (VL-201) */
export function listedVolumeOf({ volume, status }: WireVolumeEntry): ListedVolume {
  if (!volume) throw new CsiAnswerError(INVALID_ENTRY);
  return {
    ...volumeOf(volume),
    publishedNodeIds: status?.published_node_ids ?? [],
    isAbnormal: status?.volume_condition?.abnormal ?? false,
    condition: status?.volume_condition?.message ?? '',
  };
}

/** @throws CsiAnswerError (VL-201) */
export function listedSnapshotOf({ snapshot }: WireSnapshotEntry): ProvidedSnapshot {
  if (!snapshot) throw new CsiAnswerError(INVALID_ENTRY);
  return snapshotOf(snapshot);
}

export function snapshotOf(snapshot: WireSnapshot): ProvidedSnapshot {
  return {
    snapshotId: snapshot.snapshot_id,
    sourceVolumeId: snapshot.source_volume_id,
    sizeBytes: BigInt(snapshot.size_bytes),
    createdAtSeconds: Number(snapshot.creation_time?.seconds ?? 0),
    isReady: snapshot.ready_to_use,
  };
}

export function validationOf({ confirmed, message }: WireValidation): Validation {
  return {
    confirmed: confirmed
      ? { uses: confirmed.volume_capabilities.map((one) => volumeUseOf(one)), context: confirmed.volume_context }
      : undefined,
    message,
  };
}
