import { type CapacityRange, capacityRange, required, type WireCapacityRange, wantedCapacity } from './arguments.js';
import { volumeCapability, type VolumeUse, type WireVolumeCapability } from './volume-capability.js';

type StringMap = Readonly<Record<string, string>>;

/** Domain → segment, such as `zone` → `z1`. */
export type Segments = StringMap;

export interface CreateVolume {
  /** A repeated create with the same name returns the first one's volume (CW-15). */
  readonly name: string;
  readonly capacity: CapacityRange;
  readonly uses: readonly VolumeUse[];
  readonly parameters?: StringMap;
  readonly secrets?: StringMap;
  /** The provider's ID of a volume or snapshot to copy. At most one is set. */
  readonly cloneId?: string;
  readonly snapshotId?: string;
  readonly topologies?: { readonly required: readonly Segments[]; readonly preferred: readonly Segments[] };
}
/** Attaches a volume to a machine. */
export interface AttachVolume {
  readonly volumeId: string;
  /** The provider's ID of the machine. */
  readonly nodeId: string;
  readonly readonly: boolean;
  readonly use: VolumeUse;
  readonly secrets?: StringMap;
  readonly volumeContext?: StringMap;
}
export interface DetachVolume {
  readonly volumeId: string;
  /** Never empty, because that would detach the volume from all machines (VL-118). */
  readonly nodeId: string;
  readonly secrets?: StringMap;
}
export interface ValidateVolume {
  readonly volumeId: string;
  readonly uses: readonly VolumeUse[];
  readonly parameters?: StringMap;
  readonly secrets?: StringMap;
  readonly volumeContext?: StringMap;
}
export interface ExpandVolume {
  readonly volumeId: string;
  readonly capacity: CapacityRange;
  readonly use: VolumeUse | null;
  readonly secrets?: StringMap;
}
export interface CreateSnapshot {
  readonly sourceVolumeId: string;
  /** A repeated request with the same name returns the same snapshot and whether it is ready (CW-22). */
  readonly name: string;
  readonly parameters?: StringMap;
  readonly secrets?: StringMap;
}
/** One page of a list. */
export interface Page {
  /** 0 for the plugin's default. */
  readonly maxEntries?: number;
  /** Empty for the first page. */
  readonly startingToken?: string;
}

interface WireTopology {
  readonly segments: Segments;
}
interface WireContentSource {
  readonly snapshot?: { readonly snapshot_id: string };
  readonly volume?: { readonly volume_id: string };
}

export function createVolumeRequest(create: CreateVolume): {
  readonly name: string;
  readonly capacity_range: WireCapacityRange | null;
  readonly volume_capabilities: readonly WireVolumeCapability[];
  readonly parameters: StringMap;
  readonly secrets: StringMap;
  readonly volume_content_source: WireContentSource | null;
  readonly accessibility_requirements: {
    readonly requisite: readonly WireTopology[];
    readonly preferred: readonly WireTopology[];
  };
} {
  const topologies = (all: readonly Segments[] = []): WireTopology[] => all.map((segments) => ({ segments }));
  return {
    name: required('Name', create.name),
    capacity_range: capacityRange(create.capacity),
    volume_capabilities: requiredUses(create.uses),
    parameters: create.parameters ?? {},
    secrets: create.secrets ?? {},
    volume_content_source: contentSource(create),
    // Sent even if it is empty (VL-36).
    accessibility_requirements: {
      requisite: topologies(create.topologies?.required),
      preferred: topologies(create.topologies?.preferred),
    },
  };
}

export function attachRequest(attach: AttachVolume): {
  readonly volume_id: string;
  readonly node_id: string;
  readonly readonly?: true;
  readonly volume_capability: WireVolumeCapability;
  readonly secrets: StringMap;
  readonly volume_context: StringMap;
} {
  return {
    volume_id: required('volume ID', attach.volumeId),
    node_id: required('node ID', attach.nodeId),
    // Follows the claim, whatever the plugin advertises (VL-255).
    ...(attach.readonly && { readonly: true }),
    volume_capability: volumeCapability(attach.use),
    secrets: attach.secrets ?? {},
    volume_context: attach.volumeContext ?? {},
  };
}

export function detachRequest(detach: DetachVolume): {
  readonly volume_id: string;
  readonly node_id: string;
  readonly secrets: StringMap;
} {
  return {
    volume_id: required('volume ID', detach.volumeId),
    node_id: required('node ID', detach.nodeId),
    secrets: detach.secrets ?? {},
  };
}

export function validateRequest(validate: ValidateVolume): {
  readonly volume_id: string;
  readonly volume_capabilities: readonly WireVolumeCapability[];
  readonly parameters: StringMap;
  readonly secrets: StringMap;
  readonly volume_context: StringMap;
} {
  return {
    volume_id: required('volume ID', validate.volumeId),
    volume_capabilities: requiredUses(validate.uses),
    parameters: validate.parameters ?? {},
    secrets: validate.secrets ?? {},
    volume_context: validate.volumeContext ?? {},
  };
}

export function expandRequest(expand: ExpandVolume): {
  readonly volume_id: string;
  readonly capacity_range: WireCapacityRange;
  readonly volume_capability: WireVolumeCapability | null;
  readonly secrets: StringMap;
} {
  return {
    volume_id: required('volume ID', expand.volumeId),
    capacity_range: wantedCapacity(expand.capacity),
    volume_capability: expand.use && volumeCapability(expand.use),
    secrets: expand.secrets ?? {},
  };
}

export function createSnapshotRequest(create: CreateSnapshot): {
  readonly source_volume_id: string;
  readonly name: string;
  readonly parameters: StringMap;
  readonly secrets: StringMap;
} {
  return {
    source_volume_id: required('volume ID', create.sourceVolumeId),
    name: required('Name', create.name),
    parameters: create.parameters ?? {},
    secrets: create.secrets ?? {},
  };
}

export function pageRequest({ maxEntries = 0, startingToken = '' }: Page): {
  readonly max_entries?: number;
  readonly starting_token?: string;
} {
  return {
    ...(maxEntries > 0 && { max_entries: maxEntries }),
    ...(startingToken !== '' && { starting_token: startingToken }),
  };
}

function requiredUses(uses: readonly VolumeUse[]): WireVolumeCapability[] {
  required('volume capability', uses.length === 0 ? '' : 'given');
  return uses.map((use) => volumeCapability(use));
}

function contentSource({ cloneId, snapshotId }: CreateVolume): WireContentSource | null {
  if (cloneId) return { volume: { volume_id: cloneId } };
  return snapshotId ? { snapshot: { snapshot_id: snapshotId } } : null;
}
