import type { CSIPlugin, CSIVolume, HostVolume, TaskGroupHostVolumeClaim } from '@waybill/model';
import { Conditions, findStatement, type ListQuery, type Namespaces, type RowSource } from './list-query.js';
import { byId, byNamespaceAndId, type Page } from './page.js';
import { type Found, type Listed, type ListedRaw, listOf, type ListOptions, type RowReads } from './row-reads.js';

/** A volume with its plugin's record, both in their present state (VL-65). */
export interface VolumeWithPlugin {
  readonly volume: CSIVolume;
  /** Undefined if there is no record (VL-64). */
  readonly plugin: CSIPlugin | undefined;
}

export interface VolumeListOptions extends Page {
  readonly namespaces: Namespaces;
  /** Prefix of the ID. */
  readonly prefix?: string | undefined;
  readonly pluginId?: string | undefined;
  /** Only these volumes. */
  readonly named?: readonly { readonly Namespace: string; readonly ID: string }[] | undefined;
  readonly keep?: ((row: VolumeWithPlugin) => boolean) | undefined;
}

export interface HostVolumeListOptions extends Page {
  readonly namespaces: Namespaces;
  /** Prefix of the name or the ID (VL-306). */
  readonly prefix?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly nodePool?: string | undefined;
  readonly keep?: ((row: HostVolume) => boolean) | undefined;
}

export interface VolumeClaimListOptions extends ListOptions<TaskGroupHostVolumeClaim> {
  readonly namespaces: Namespaces;
  readonly jobId?: string | undefined;
  readonly taskGroup?: string | undefined;
  readonly volumeName?: string | undefined;
}

interface VolumeColumns {
  readonly body: CSIVolume;
  readonly plugin: CSIPlugin | null;
}

const WITH_PLUGIN: RowSource = {
  select: 'r.body, p.body as plugin',
  from: 'csi_volumes r left join csi_plugins p on p.id = r.plugin_id',
};

const FIND = {
  volume: findStatement('csi_volumes', ['namespace', 'id'], WITH_PLUGIN),
  plugin: findStatement('csi_plugins', ['id']),
  hostVolume: findStatement('host_volumes', ['namespace', 'id']),
} as const;

/** Index of a response about one volume or plugin: the table's, so health is never older than the index (ST-29). */
const ofTable = (_: unknown, tableIndex: number): number => tableIndex;

/**
 * Reads of CSI volumes, plugins and host volumes as stored. Encode them before they leave the process. Part of the read
 * model.
 */
export class VolumeReads {
  constructor(private readonly rows: RowReads) {}

  list(options: VolumeListOptions): Promise<Listed<VolumeWithPlugin>> {
    return this.rows.listAs<VolumeWithPlugin, ListedRaw & VolumeColumns>(
      volumeQuery(options),
      volumeWithPlugin,
      options.keep,
    );
  }

  find(namespace: string, id: string): Promise<Found<VolumeWithPlugin>> {
    return this.rows.findAs(FIND.volume, [namespace, id], volumeWithPlugin, ofTable);
  }

  plugins(options: ListOptions<CSIPlugin> = {}): Promise<Listed<CSIPlugin>> {
    const conditions = (): Conditions => new Conditions().startsWith('id', options.prefix ?? '');
    return this.rows.list(listOf('csi_plugins', conditions, byId<CSIPlugin>(), options), options.keep);
  }

  plugin(id: string): Promise<Found<CSIPlugin>> {
    return this.rows.findAs(FIND.plugin, [id], ({ body }: { readonly body: CSIPlugin }) => body, ofTable);
  }

  hostVolumes(options: HostVolumeListOptions): Promise<Listed<HostVolume>> {
    const order = byNamespaceAndId<HostVolume>((row) => row);
    return this.rows.list(
      listOf('host_volumes', () => hostVolumeConditions(options), order, options),
      options.keep,
    );
  }

  hostVolume(namespace: string, id: string): Promise<Found<HostVolume>> {
    return this.rows.find(FIND.hostVolume, [namespace, id]);
  }

  /** Lists the claims of task groups on host volumes. */
  claims(options: VolumeClaimListOptions): Promise<Listed<TaskGroupHostVolumeClaim>> {
    const conditions = (): Conditions => volumeClaimConditions(options);
    return this.rows.list(listOf<TaskGroupHostVolumeClaim>('task_volume', conditions, byId(), options), options.keep);
  }
}

const volumeWithPlugin = ({ body, plugin }: VolumeColumns): VolumeWithPlugin => ({
  volume: body,
  plugin: plugin ?? undefined,
});

/** Lists CSI volumes by namespace and ID (VL-259). */
function volumeQuery(options: VolumeListOptions): ListQuery<VolumeWithPlugin> {
  const { namespaces, prefix = '', pluginId, named } = options;
  const conditions = (): Conditions => {
    const chosen = new Conditions().in(namespaces).startsWith('id', prefix);
    if (pluginId !== undefined) chosen.equal('plugin_id', pluginId);
    if (!named) return chosen;
    const ofNames = chosen.value(named.map(({ Namespace }) => Namespace));
    const ids = chosen.value(named.map(({ ID }) => ID));
    return chosen.where(`(r.namespace, r.id) in (select * from unnest(${ofNames}::text[], ${ids}::text[]))`);
  };
  const order = byNamespaceAndId<VolumeWithPlugin>(({ volume }) => volume);
  return { ...WITH_PLUGIN, indexOf: ['csi_volumes'], conditions, order, page: options };
}

function hostVolumeConditions(options: HostVolumeListOptions): Conditions {
  const { namespaces, prefix = '', nodeId, nodePool } = options;
  const chosen = new Conditions().in(namespaces);
  if (nodeId !== undefined) chosen.equal('node_id', nodeId);
  if (nodePool !== undefined) chosen.equal('node_pool', nodePool);
  return prefix === '' ? chosen : chosen.startsOneWith(['name', 'id'], prefix);
}

function volumeClaimConditions(options: VolumeClaimListOptions): Conditions {
  const { namespaces, prefix = '', jobId, taskGroup, volumeName } = options;
  const chosen = new Conditions().in(namespaces).startsWith('id', prefix);
  if (jobId !== undefined) chosen.equal('job_id', jobId);
  if (taskGroup !== undefined) chosen.equal('task_group_name', taskGroup);
  if (volumeName !== undefined) chosen.equal('volume_name', volumeName);
  return chosen;
}
