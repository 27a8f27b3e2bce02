import type { WireCSIVolume } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { formatBytes } from '../terminal/sizes.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues, table } from '../terminal/table.js';

/** Prints a CSI volume in full (CL-704). */
export function printCSIVolume(call: Call, volume: WireCSIVolume, short: boolean): void {
  const { terminal } = call;
  terminal.print(keyValues(volumeList(volume)));
  if (short) return;
  if (volume.Topologies.length > 0) {
    terminal.section('Topologies');
    terminal.print(
      table([
        ['Topology', 'Segments'],
        ...volume.Topologies.map(({ Segments }, i) => [
          String(i).padStart(2, '0'),
          sortedEntries(Segments ?? {})
            .map(([key, value]) => `${key}=${value}`)
            .join(', '),
        ]),
      ]),
    );
  }
  terminal.section('Capabilities');
  terminal.print(
    table([
      ['Access Mode', 'Attachment Mode'],
      ...(volume.RequestedCapabilities ?? []).map(({ AccessMode, AttachmentMode }) => [AccessMode, AttachmentMode]),
    ]),
  );
  terminal.section('Allocations');
  terminal.print(allocationTable(volume.Allocations, Display.of(call)));
}

const volumeList = (volume: WireCSIVolume): [string, string][] => [
  ['ID', volume.ID],
  ['Name', volume.Name],
  ['Namespace', volume.Namespace],
  ['External ID', volume.ExternalID],
  ['Plugin ID', volume.PluginID],
  ['Provider', volume.Provider],
  ['Version', volume.ProviderVersion],
  ['Capacity', formatBytes(volume.Capacity)],
  ['Schedulable', String(volume.Schedulable)],
  ['Controllers Healthy', String(volume.ControllersHealthy)],
  ['Controllers Expected', String(volume.ControllersExpected)],
  ['Nodes Healthy', String(volume.NodesHealthy)],
  ['Nodes Expected', String(volume.NodesExpected)],
  ['Access Mode', volume.AccessMode],
  ['Attachment Mode', volume.AttachmentMode],
  ['Mount Options', mountOptions(volume.MountOptions)],
];

function mountOptions({ FSType, MountFlags }: WireCSIVolume['MountOptions']): string {
  const parts = [FSType && `fs_type: ${FSType}`, MountFlags?.length && `flags: ${MountFlags.join(', ')}`];
  return parts.filter(Boolean).join(' ');
}
