import type { CSIPluginConfig, VolumeRequest } from '@waybill/model';
import { below, escapedName, type PathName, pathName, UnsafeNameError } from '../../paths/path-name.js';

export const SOCKET_NAME = 'csi.sock';
/** The types that a plugin block may have (VL-176). */
const TYPES: ReadonlySet<string> = new Set(['node', 'controller', 'monolith']);

/** Where a plugin's task meets the agent on this machine (VL-204). */
export interface PluginDirectories {
  /** Below it volumes are staged and published. */
  readonly mountRoot: string;
  /** The plugin makes its socket here; one for each allocation of it (VL-206). */
  readonly socketDir: string;
}

/** @throws UnsafeNameError */
export function pluginDirectories(csiDir: string, plugin: CSIPluginConfig, allocId: string): PluginDirectories {
  return {
    mountRoot: below(csiDir, typeOf(plugin), escapedName(plugin.ID, 'the plugin')),
    socketDir: below(csiDir, 'plugins', pathName(allocId, 'the allocation')),
  };
}

/** The sockets are beside the directories of the types: a type of their name would lead to them. @throws UnsafeNameError */
function typeOf({ Type }: CSIPluginConfig): PathName {
  if (!TYPES.has(Type)) throw new UnsafeNameError('the type of plugin', Type, 'is unknown');
  return pathName(Type);
}

/** How an allocation uses a volume, as far as the places of its mounts depend on it. */
export type VolumeUsage = Pick<VolumeRequest, 'ReadOnly' | 'AttachmentMode' | 'AccessMode'>;

/** The mode of use that is part of a staging path, such as `rw-file-system-single-node-writer` (VL-235). */
export const usageMode = ({ ReadOnly, AttachmentMode, AccessMode }: VolumeUsage): string =>
  `${ReadOnly ? 'ro' : 'rw'}-${AttachmentMode}-${AccessMode}`;

/** A volume in use by an allocation. */
export interface UsedVolume {
  readonly namespace: string;
  readonly volumeId: string;
  readonly usage: VolumeUsage;
}

/** Below the root of its plugin, the same for all allocations that use it alike (VL-235, VL-236). @throws UnsafeNameError */
export function stagingPath({ namespace, volumeId, usage }: UsedVolume): string {
  const volume = below('staging', escapedName(namespace, 'the namespace'), escapedName(volumeId, 'the volume'));
  return below(volume, pathName(usageMode(usage), 'the usage'));
}

/** Below the root of its plugin, one for each allocation. @throws UnsafeNameError */
export function targetPath({ volumeId, usage }: UsedVolume, allocId: string): string {
  const volume = below('per-alloc', pathName(allocId, 'the allocation'), escapedName(volumeId, 'the volume'));
  return below(volume, pathName(usageMode(usage), 'the usage'));
}
