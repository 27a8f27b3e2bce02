import type { CreatedOnNode, HostVolumeOnNode } from '@waybill/rpc';

/** What a plugin, or this machine, says to a volume. */
export class HostVolumeRefusal extends Error {
  override readonly name = 'HostVolumeRefusal';
}

/** Makes and deletes directories for volumes. Asked again for the same volume it does nothing new. */
export interface HostVolumePlugin {
  readonly version: string;
  /** @throws HostVolumeRefusal */
  create(volume: HostVolumeOnNode): Promise<CreatedOnNode>;
  /** One that is not there is a success. @throws HostVolumeRefusal */
  delete(volume: HostVolumeOnNode): Promise<void>;
}

/** The attribute by which placements know that a machine has a plugin (VL-288). */
export const pluginAttribute = (id: string): string => `plugins.host_volume.${id}.version`;
