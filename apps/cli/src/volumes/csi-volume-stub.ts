import type { WireCSIVolume } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { table } from '../terminal/table.js';

/** A row of the list; everything but the names may be absent. */
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

/** Where a volume is read and changed. */
export const csiVolumePath = (id: string): string => `/v1/volume/csi/${encodeURIComponent(id)}`;

/** The volumes whose IDs begin so. @throws CommandFailure */
export async function csiVolumes({ api }: Pick<Call, 'api'>, prefix: string): Promise<readonly CSIVolumeStub[]> {
  const query = { type: 'csi', prefix: prefix || undefined };
  const { value } = await api.get<CSIVolumeStub[] | null>('/v1/volumes', query).catch((error: unknown) => {
    throw failed('querying CSI volumes', error);
  });
  return value ?? [];
}

/** The one that is meant (CL-157); undefined: none begins so. @throws CommandFailure with the table of several */
export function meantOf(volumes: readonly CSIVolumeStub[], given: string): CSIVolumeStub | undefined {
  const exact = volumes.filter(({ ID }) => ID === given);
  if (exact.length === 1) return exact[0];
  if (volumes.length > 1) throw new CommandFailure(`Prefix matched multiple CSI volumes\n\n${csiVolumeTable(volumes)}`);
  return volumes[0];
}

/** The volume a command is about (CL-154, CL-157). @throws CommandFailure */
export async function resolveCSIVolume(call: Pick<Call, 'api'>, given: string): Promise<CSIVolumeStub> {
  const found = meantOf(await csiVolumes(call, given), given);
  if (!found) throw new CommandFailure(`no volumes with prefix or ID "${given}" found`);
  return found;
}
