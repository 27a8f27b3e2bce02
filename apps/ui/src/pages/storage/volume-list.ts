import type { CSIVolListStub, HostVolumeStub } from '../../api/contract.js';
import { bytesInWords, counted } from '../../words/sizes.js';

export const VOLUME_KINDS = ['host', 'CSI'] as const;

/** VolumeRow is a volume of either kind, as the list shows it. */
export interface VolumeRow {
  readonly kind: (typeof VOLUME_KINDS)[number];
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly state: string;
  readonly plugin: string;
  /** The machine of a host volume; empty for a CSI volume, which several machines may mount. */
  readonly node: string;
  /** Size or use, in words. */
  readonly about: string;
}

export interface VolumeFilter {
  /** A text in the name, the ID or the plugin. */
  readonly search?: string;
  readonly kind?: string;
  readonly namespace?: string;
}

/** Returns the volumes of both kinds, by name. */
export function volumeRows(csi: readonly CSIVolListStub[], host: readonly HostVolumeStub[]): readonly VolumeRow[] {
  return [
    ...csi.map((volume): VolumeRow => ({
      kind: 'CSI',
      id: volume.ID,
      name: volume.Name || volume.ID,
      namespace: volume.Namespace,
      state: volume.Schedulable ? 'schedulable' : 'unschedulable',
      plugin: volume.PluginID,
      node: '',
      about: usersInWords(volume),
    })),
    ...host.map((volume): VolumeRow => ({
      kind: 'host',
      id: volume.ID,
      name: volume.Name,
      namespace: volume.Namespace,
      state: volume.State,
      plugin: volume.PluginID,
      node: volume.NodeID,
      about: volume.CapacityBytes === 0 ? '—' : bytesInWords(volume.CapacityBytes),
    })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1));
}

type Users = Pick<CSIVolListStub, 'CurrentReaders' | 'CurrentWriters'>;

/** Returns how many allocations use a volume: `1 writer, 2 readers`. */
export function usersInWords({ CurrentReaders, CurrentWriters }: Users): string {
  const words = [
    CurrentWriters > 0 ? counted(CurrentWriters, 'writer') : '',
    CurrentReaders > 0 ? counted(CurrentReaders, 'reader') : '',
  ].filter(Boolean);
  return words.length === 0 ? 'not in use' : words.join(', ');
}

export function filteredVolumes(rows: readonly VolumeRow[], filter: VolumeFilter): readonly VolumeRow[] {
  const { search = '', kind, namespace } = filter;
  const text = search.trim().toLowerCase();
  return rows
    .filter((row) => kind === undefined || row.kind === kind)
    .filter((row) => namespace === undefined || row.namespace === namespace)
    .filter(({ name, id, plugin }) => `${name} ${id} ${plugin}`.toLowerCase().includes(text));
}

interface Health {
  readonly healthy: number;
  readonly expected: number;
}

/** Returns how many parts of a plugin work. More than expected do while a job that runs them is being replaced. */
export const healthInWords = ({ healthy, expected }: Health): string =>
  healthy > expected ? `${healthy} healthy` : `${healthy} of ${expected} healthy`;
