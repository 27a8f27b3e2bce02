import type { WireCSIVolume } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** A volume in a list. All but the names may be absent. */
export type CSIVolumeStub = Pick<WireCSIVolume, 'ID' | 'Namespace'> &
  Partial<Pick<WireCSIVolume, 'Name' | 'PluginID' | 'Schedulable' | 'AccessMode'>>;

/** Lists CSI volumes, sorted by ID (CL-701). */
export const csiVolumeTable = (volumes: readonly CSIVolumeStub[]): string =>
  table([
    ['ID', 'Name', 'Namespace', 'Plugin ID', 'Schedulable', 'Access Mode'],
    ...volumes
      .toSorted((a, b) => (a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0))
      .map((one) => [one.ID, one.Name, one.Namespace, one.PluginID, String(one.Schedulable ?? false), one.AccessMode]),
  ]);

/** Returns the API path of a volume. */
export const csiVolumePath = (id: string): string => `/v1/volume/csi/${encodeURIComponent(id)}`;

/** Reads the volumes with this ID prefix. @throws CommandFailure */
export async function csiVolumes({ api }: Pick<Call, 'api'>, prefix: string): Promise<readonly CSIVolumeStub[]> {
  const query = { type: 'csi', prefix: prefix || undefined };
  const { value } = await api.get<CSIVolumeStub[] | null>('/v1/volumes', query).catch((error: unknown) => {
    throw failed('querying CSI volumes', error);
  });
  return value ?? [];
}

/**
 * Chooses the volume with the given ID or prefix (CL-157), or returns undefined if there is none. @throws
 * CommandFailure with a table of several matches
 */
export function meantOf(volumes: readonly CSIVolumeStub[], given: string): CSIVolumeStub | undefined {
  const exact = volumes.filter(({ ID }) => ID === given);
  if (exact.length === 1) return exact[0];
  if (volumes.length > 1) throw new CommandFailure(`Prefix matched multiple CSI volumes\n\n${csiVolumeTable(volumes)}`);
  return volumes[0];
}

/** Finds the volume of a command (CL-154, CL-157). @throws CommandFailure */
export async function resolveCSIVolume(call: Pick<Call, 'api'>, given: string): Promise<CSIVolumeStub> {
  const found = meantOf(await csiVolumes(call, given), given);
  if (!found) throw new CommandFailure(`no volumes with prefix or ID "${given}" found`);
  return found;
}
