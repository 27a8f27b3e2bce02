import type { CreatedOnNode, HostVolumeOnNode } from '@waybill/rpc';

/** HostVolumeRefusal is the refusal of a volume by a plugin or by this machine. */
export class HostVolumeRefusal extends Error {
  override readonly name = 'HostVolumeRefusal';
}

/** HostVolumePlugin makes and deletes directories for volumes. Repeating an operation changes nothing. */
export interface HostVolumePlugin {
  readonly version: string;
  /** @throws HostVolumeRefusal */
  create(volume: HostVolumeOnNode): Promise<CreatedOnNode>;
  /** Deletes a volume. A missing volume is a success. @throws HostVolumeRefusal */
  delete(volume: HostVolumeOnNode): Promise<void>;
}

/** Returns the node attribute that tells the scheduler that a machine has a plugin (VL-288). */
export const pluginAttribute = (id: string): string => `plugins.host_volume.${id}.version`;
