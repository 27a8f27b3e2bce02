import path from 'node:path';
import type { CSIPluginConfig, VolumeRequest } from '@waybill/model';

export const SOCKET_NAME = 'csi.sock';

/** VL-307: a name would lead a path elsewhere than where it belongs. Nothing was made, and no plugin called. */
export class UnsafePathError extends Error {
  override readonly name = 'UnsafePathError';
  constructor(part: string) {
    super(`"${part.replaceAll('\0', '\\0')}" cannot be part of a path on this machine`);
  }
}

/** Where a plugin's task meets the agent on this machine (VL-204). */
export interface PluginDirectories {
  /** Below it volumes are staged and published. */
  readonly mountRoot: string;
  /** The plugin makes its socket here; one for each allocation of it (VL-206). */
  readonly socketDir: string;
}

/** @throws UnsafePathError */
export function pluginDirectories(csiDir: string, plugin: CSIPluginConfig, allocId: string): PluginDirectories {
  return {
    mountRoot: path.join(csiDir, ...checked(plugin.Type, plugin.ID)),
    socketDir: path.join(csiDir, 'plugins', ...checked(allocId)),
  };
}

/** How an allocation uses a volume, as far as the places of its mounts depend on it. */
export type VolumeUsage = Pick<VolumeRequest, 'ReadOnly' | 'AttachmentMode' | 'AccessMode'>;

/** VL-235. */
export const usageMode = ({ ReadOnly, AttachmentMode, AccessMode }: VolumeUsage): string =>
  `${ReadOnly ? 'ro' : 'rw'}-${AttachmentMode}-${AccessMode}`;

/** A volume in use by an allocation. */
export interface UsedVolume {
  readonly namespace: string;
  readonly volumeId: string;
  readonly usage: VolumeUsage;
}

/** Below the root of its plugin, the same for all allocations that use it alike (VL-235, VL-236). @throws UnsafePathError */
export function stagingPath({ namespace, volumeId, usage }: UsedVolume): string {
  return path.join('staging', ...checked(namespace, volumeId, usageMode(usage)));
}

/** Below the root of its plugin, one for each allocation. @throws UnsafePathError */
export function targetPath({ volumeId, usage }: UsedVolume, allocId: string): string {
  return path.join('per-alloc', ...checked(allocId, volumeId, usageMode(usage)));
}

/** Each becomes one or more segments of a path, none of which leads anywhere but down. */
function checked(...parts: readonly string[]): string[] {
  for (const part of parts) {
    const leadsElsewhere = part.split('/').some((segment) => segment === '' || segment === '.' || segment === '..');
    if (leadsElsewhere || part.includes('\0')) throw new UnsafePathError(part);
  }
  return [...parts];
}
