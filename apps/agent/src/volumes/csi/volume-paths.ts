import type { CSIPluginConfig, VolumeRequest } from '@waybill/model';
import { below, escapedName, type PathName, pathName, UnsafeNameError } from '../../paths/path-name.js';

export const SOCKET_NAME = 'csi.sock';
/** The types that a plugin block may have (VL-176). */
const TYPES: ReadonlySet<string> = new Set(['node', 'controller', 'monolith']);

/** PluginDirectories are the directories that a plugin's task shares with the agent on this machine (VL-204). */
export interface PluginDirectories {
  /** The directory below which volumes are staged and published. */
  readonly mountRoot: string;
  /** The directory of the plugin's socket, one for each of its allocations (VL-206). */
  readonly socketDir: string;
}

/** Returns the directories of a plugin. @throws UnsafeNameError */
export function pluginDirectories(csiDir: string, plugin: CSIPluginConfig, allocId: string): PluginDirectories {
  return {
    mountRoot: below(csiDir, typeOf(plugin), escapedName(plugin.ID, 'the plugin')),
    socketDir: below(csiDir, 'plugins', pathName(allocId, 'the allocation')),
  };
}

/**
 * Checks the type. The directory of sockets is beside those of the types, so a type of that name would lead to it.
 * @throws UnsafeNameError
 */
function typeOf({ Type }: CSIPluginConfig): PathName {
  if (!TYPES.has(Type)) throw new UnsafeNameError('the type of plugin', Type, 'is unknown');
  return pathName(Type);
}

/** VolumeUsage is the part of an allocation's use of a volume that determines its mount paths. */
export type VolumeUsage = Pick<VolumeRequest, 'ReadOnly' | 'AttachmentMode' | 'AccessMode'>;

/** Returns the mode of use that is part of a staging path, such as `rw-file-system-single-node-writer` (VL-235). */
export const usageMode = ({ ReadOnly, AttachmentMode, AccessMode }: VolumeUsage): string =>
  `${ReadOnly ? 'ro' : 'rw'}-${AttachmentMode}-${AccessMode}`;

/** UsedVolume is a volume that an allocation uses. */
export interface UsedVolume {
  readonly namespace: string;
  readonly volumeId: string;
  readonly usage: VolumeUsage;
}

/**
 * Returns the path below the plugin's root. It is the same for all allocations with the same usage (VL-235, VL-236).
 * @throws UnsafeNameError
 */
export function stagingPath({ namespace, volumeId, usage }: UsedVolume): string {
  const volume = below('staging', escapedName(namespace, 'the namespace'), escapedName(volumeId, 'the volume'));
  return below(volume, pathName(usageMode(usage), 'the usage'));
}

/** Returns the path below the plugin's root. Each allocation has its own. @throws UnsafeNameError */
export function targetPath({ volumeId, usage }: UsedVolume, allocId: string): string {
  const volume = below('per-alloc', pathName(allocId, 'the allocation'), escapedName(volumeId, 'the volume'));
  return below(volume, pathName(usageMode(usage), 'the usage'));
}
