import { type CapacityRange, capacityRange, required, type WireCapacityRange } from './arguments.js';
import { volumeCapability, type VolumeUse, type WireVolumeCapability } from './volume-capability.js';

type StringMap = Readonly<Record<string, string>>;

/** A volume in the provider's description, with the contexts for the node plugin at each step (CW-18, CW-20). */
export interface MountedVolume {
  /** The provider's ID. */
  readonly volumeId: string;
  readonly use: VolumeUse;
  readonly publishContext?: StringMap;
  readonly volumeContext?: StringMap;
  readonly secrets?: StringMap;
}
/** Stages a volume. Paths are absolute, as the plugin sees them. */
export interface StageVolume extends MountedVolume {
  readonly stagingPath: string;
}
export interface PublishVolume extends MountedVolume {
  /** Empty if the plugin does not stage. */
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly readonly: boolean;
}
export interface ExpandOnNode {
  readonly volumeId: string;
  /** Path where the volume is published. */
  readonly volumePath: string;
  readonly stagingPath: string;
  readonly use: VolumeUse;
  readonly capacity: CapacityRange;
  readonly secrets?: StringMap;
}

interface WireMountedVolume {
  readonly volume_id: string;
  readonly volume_capability: WireVolumeCapability;
  readonly publish_context: StringMap;
  readonly volume_context: StringMap;
  readonly secrets: StringMap;
}

function mounted(volume: MountedVolume): WireMountedVolume {
  return {
    volume_id: required('volume ID', volume.volumeId),
    volume_capability: volumeCapability(volume.use),
    publish_context: volume.publishContext ?? {},
    volume_context: volume.volumeContext ?? {},
    secrets: volume.secrets ?? {},
  };
}

export function stageRequest(stage: StageVolume): WireMountedVolume & { readonly staging_target_path: string } {
  return { ...mounted(stage), staging_target_path: required('staging target path', stage.stagingPath) };
}

export function publishRequest(publish: PublishVolume): WireMountedVolume & {
  readonly staging_target_path?: string;
  readonly target_path: string;
  readonly readonly?: true;
} {
  return {
    ...mounted(publish),
    ...(publish.stagingPath !== '' && { staging_target_path: publish.stagingPath }),
    target_path: required('target path', publish.targetPath),
    ...(publish.readonly && { readonly: true }),
  };
}

export function unpublishRequest(volumeId: string, targetPath: string): { volume_id: string; target_path: string } {
  return { volume_id: required('volume ID', volumeId), target_path: required('target path', targetPath) };
}

export function unstageRequest(
  volumeId: string,
  stagingPath: string,
): { volume_id: string; staging_target_path: string } {
  return {
    volume_id: required('volume ID', volumeId),
    staging_target_path: required('staging target path', stagingPath),
  };
}

export function expandOnNodeRequest(expand: ExpandOnNode): {
  readonly volume_id: string;
  readonly volume_path: string;
  readonly staging_target_path?: string;
  readonly capacity_range: WireCapacityRange | null;
  readonly volume_capability: WireVolumeCapability;
  readonly secrets: StringMap;
} {
  return {
    volume_id: required('volume ID', expand.volumeId),
    volume_path: required('volume path', expand.volumePath),
    ...(expand.stagingPath !== '' && { staging_target_path: expand.stagingPath }),
    capacity_range: capacityRange(expand.capacity),
    volume_capability: volumeCapability(expand.use),
    secrets: expand.secrets ?? {},
  };
}
