import type { CSIPlugin, CSIVolume, HostVolume } from '@waybill/model';
import { Conditions, findStatement, type ListQuery, type Namespaces, type RowSource } from './list-query.js';
import { afterPrefix, byNamespaceAndId, type Page } from './page.js';
import { storedText } from './stored-text.js';

/** A volume with the record of its plugin, both as they are now (VL-65). */
export interface VolumeWithPlugin {
  readonly volume: CSIVolume;
  /** Undefined: there is none (VL-64). */
  readonly plugin: CSIPlugin | undefined;
}

export interface VolumeListOptions extends Page {
  readonly namespaces: Namespaces;
  /** Beginning of the ID. */
  readonly prefix?: string | undefined;
  readonly pluginId?: string | undefined;
  /** Only these. */
  readonly named?: readonly { readonly Namespace: string; readonly ID: string }[] | undefined;
  readonly keep?: ((row: VolumeWithPlugin) => boolean) | undefined;
}

export interface HostVolumeListOptions extends Page {
  readonly namespaces: Namespaces;
  /** Beginning of the name or of the ID (VL-306). */
  readonly prefix?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly nodePool?: string | undefined;
  readonly keep?: ((row: HostVolume) => boolean) | undefined;
}

export interface VolumeClaimListOptions extends Page {
  readonly namespaces: Namespaces;
  /** Beginning of the claim's ID. */
  readonly prefix?: string | undefined;
  readonly jobId?: string | undefined;
  readonly taskGroup?: string | undefined;
  readonly volumeName?: string | undefined;
}

export interface VolumeRaw {
  readonly table_index: number;
  readonly found: true | null;
  readonly body: CSIVolume;
  readonly plugin: CSIPlugin | null;
}

const WITH_PLUGIN: RowSource = {
  select: 'r.body, p.body as plugin',
  from: 'csi_volumes r left join csi_plugins p on p.id = r.plugin_id',
};

export const FIND_VOLUME = findStatement('csi_volumes', ['namespace', 'id'], WITH_PLUGIN);

export const volumeWithPlugin = ({ body, plugin }: Pick<VolumeRaw, 'body' | 'plugin'>): VolumeWithPlugin => ({
  volume: body,
  plugin: plugin ?? undefined,
});

/** By namespace and ID (VL-259). */
export function volumeQuery(options: VolumeListOptions): ListQuery<VolumeWithPlugin> {
  const { namespaces, prefix = '', pluginId, named } = options;
  const conditions = (): Conditions => {
    const chosen = new Conditions().in(namespaces).startsWith('id', prefix);
    if (pluginId !== undefined) chosen.equal('plugin_id', pluginId);
    if (!named) return chosen;
    const ofNames = chosen.value(named.map(({ Namespace }) => storedText(Namespace)));
    const ids = chosen.value(named.map(({ ID }) => storedText(ID)));
    return chosen.where(`(r.namespace, r.id) in (select * from unnest(${ofNames}::text[], ${ids}::text[]))`);
  };
  const order = byNamespaceAndId<VolumeWithPlugin>(({ volume }) => volume);
  return { ...WITH_PLUGIN, indexOf: ['csi_volumes'], conditions, order, page: options };
}

export function hostVolumeConditions(options: HostVolumeListOptions): Conditions {
  const { namespaces, prefix = '', nodeId, nodePool } = options;
  const chosen = new Conditions().in(namespaces);
  if (nodeId !== undefined) chosen.equal('node_id', nodeId);
  if (nodePool !== undefined) chosen.equal('node_pool', nodePool);
  if (prefix === '') return chosen;
  const stored = storedText(prefix);
  const [from, end] = [chosen.value(stored), afterPrefix(stored)];
  const to = end === undefined ? undefined : chosen.value(end);
  const begins = (column: string) => `r.${column} >= ${from}${to === undefined ? '' : ` and r.${column} < ${to}`}`;
  return chosen.where(`(${begins('name')} or ${begins('id')})`);
}

export function volumeClaimConditions(options: VolumeClaimListOptions): Conditions {
  const { namespaces, prefix = '', jobId, taskGroup, volumeName } = options;
  const chosen = new Conditions().in(namespaces).startsWith('id', prefix);
  if (jobId !== undefined) chosen.equal('job_id', jobId);
  if (taskGroup !== undefined) chosen.equal('task_group_name', taskGroup);
  if (volumeName !== undefined) chosen.equal('volume_name', volumeName);
  return chosen;
}
