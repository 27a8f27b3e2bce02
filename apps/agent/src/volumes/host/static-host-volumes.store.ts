import { stat } from 'node:fs/promises';
import type { NodeHostVolume } from '@waybill/model';
import type { ConfiguredHostVolume } from '@waybill/service';

/** HostVolumeError says that a host volume of the agent's configuration is not a directory of this machine. */
export class HostVolumeError extends Error {
  override readonly name = 'HostVolumeError';
  constructor(name: string, path: string) {
    super(`host volume "${name}": ${path} is no directory of this machine; make it, or correct WAYBILL_HOST_VOLUMES`);
  }
}

/** Returns the volumes of the agent's configuration, as the node shows them (VL-279). @throws HostVolumeError */
export async function staticHostVolumes(
  configured: Readonly<Record<string, ConfiguredHostVolume>>,
): Promise<Record<string, NodeHostVolume>> {
  const volumes: Record<string, NodeHostVolume> = {};
  for (const [name, { path, readOnly }] of Object.entries(configured)) {
    const found = await stat(path).catch(() => undefined);
    if (!found?.isDirectory()) throw new HostVolumeError(name, path);
    volumes[name] = { Name: name, Path: path, ReadOnly: readOnly, ID: '' };
  }
  return volumes;
}
