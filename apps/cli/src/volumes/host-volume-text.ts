import type { HostVolume } from '@waybill/model';
import { type AllocationRow, allocationTable } from '../allocations/allocation-table.js';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { formatBytes } from '../terminal/sizes.js';
import { keyValues, table } from '../terminal/table.js';

/** A host volume in a list. */
export type HostVolumeStub = Pick<
  HostVolume,
  'ID' | 'Name' | 'Namespace' | 'PluginID' | 'NodeID' | 'NodePool' | 'State'
>;
/** A host volume in a response of the API. */
export type HostVolumeAnswer = HostVolume & { readonly Allocations?: readonly AllocationRow[] };

/** Lists host volumes, sorted by ID (CL-701). */
export const hostVolumeTable = (volumes: readonly HostVolumeStub[], display: Display): string =>
  table([
    ['ID', 'Name', 'Namespace', 'Plugin ID', 'Node ID', 'Node Pool', 'State'],
    ...volumes
      .toSorted((a, b) => (a.ID < b.ID ? -1 : a.ID > b.ID ? 1 : 0))
      .map((one) => [
        display.id(one.ID),
        one.Name,
        one.Namespace,
        one.PluginID,
        display.id(one.NodeID),
        one.NodePool,
        one.State,
      ]),
  ]);

/** Returns the API path of a host volume. */
export const hostVolumePath = (id: string): string => `/v1/volume/host/${encodeURIComponent(id)}`;

/** Reads the host volumes with this prefix in ID or name. @throws CommandFailure */
export async function hostVolumes(
  { api }: Pick<Call, 'api'>,
  prefix: string,
  where: { readonly node_id?: string | undefined; readonly node_pool?: string | undefined } = {},
): Promise<{ readonly value: readonly HostVolumeStub[]; readonly exact: ExactJson }> {
  const query = { type: 'host', prefix: prefix || undefined, ...where };
  const { value, exact } = await api.get<HostVolumeStub[] | null>('/v1/volumes', query).catch((error: unknown) => {
    throw failed('querying host volumes', error);
  });
  return { value: value ?? [], exact };
}

/**
 * Chooses the volume with the given ID, name or prefix, or returns undefined if there is none. @throws CommandFailure
 * with a table of several matches
 */
export async function meantHostVolume(call: Call, given: string): Promise<HostVolumeStub | undefined> {
  const { value: found } = await hostVolumes(call, given);
  const exact = found.filter(({ ID, Name }) => ID === given || Name === given);
  if (exact.length === 1) return exact[0];
  if (found.length > 1)
    throw new CommandFailure(`Prefix matched multiple host volumes\n\n${hostVolumeTable(found, Display.of(call))}`);
  return found[0];
}

/** Finds the host volume of a command. @throws CommandFailure */
export async function resolveHostVolume(call: Call, given: string): Promise<HostVolumeStub> {
  const found = await meantHostVolume(call, given);
  if (!found) throw new CommandFailure(`no host volumes with prefix or ID "${given}" found`);
  return found;
}

/** Prints a host volume in full (CL-705). */
export function printHostVolume(call: Call, volume: HostVolumeAnswer, short: boolean): void {
  const { terminal } = call;
  terminal.print(
    keyValues([
      ['ID', volume.ID],
      ['Name', volume.Name],
      ['Namespace', volume.Namespace],
      ['Plugin ID', volume.PluginID],
      ['Node ID', volume.NodeID],
      ['Node Pool', volume.NodePool],
      ['Capacity', formatBytes(volume.CapacityBytes)],
      ['State', volume.State],
      ['Host Path', volume.HostPath],
    ]),
  );
  if (short) return;
  terminal.section('Capabilities');
  const capabilities = (volume.RequestedCapabilities ?? []).map((one) => [one.AccessMode, one.AttachmentMode]);
  terminal.print(table([['Access Mode', 'Attachment Mode'], ...capabilities]));
  terminal.section('Allocations');
  terminal.print(allocationTable(volume.Allocations ?? [], Display.of(call)));
}
