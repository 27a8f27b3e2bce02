import type { HostVolume } from '@waybill/model';
import { type AllocationRow, allocationTable } from './allocation-table.js';
import type { Call } from './command-spec.js';
import { Display } from './display.js';
import { formatBytes } from './sizes.js';
import { keyValues, table } from './table.js';

/** A row of the list. */
export type HostVolumeStub = Pick<
  HostVolume,
  'ID' | 'Name' | 'Namespace' | 'PluginID' | 'NodeID' | 'NodePool' | 'State'
>;
/** As the API answers one. */
export type HostVolumeAnswer = HostVolume & { readonly Allocations?: readonly AllocationRow[] };

/** CL-701. */
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

/** A host volume in full (CL-705). */
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
