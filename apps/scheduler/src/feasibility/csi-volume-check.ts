import type { ProposedAllocs } from './proposed-allocs.js';
import {
  type CSIPlugin,
  type CSIVolume,
  hasFreeWriteClaim,
  isReadSchedulable,
  isWriteSchedulable,
  type Job,
  type Node,
  type Topology,
  volumeResource,
  volumesAskedBy,
  volumeSource,
  type VolumeRequest,
} from '@waybill/model';
import { compareText, namespacedKey, type Tables } from '@waybill/state';

/**
 * Whether an allocation can use its CSI volumes on a node (SC-75 to SC-80). Plans do not hold claims: two evaluations
 * may place two writers, and the claim decides (VL-168). One for each attempt. It remembers which volumes were
 * unusable, for the blocked evaluation, which registering or releasing such a volume could help (VL-161, VL-169). Cost
 * for a node: O(requests), and O(allocations on the node) if its plugin has a limit.
 */
export class CsiVolumeCheck {
  private readonly inTheWay = new Map<string, Set<string>>();

  constructor(
    private readonly job: Pick<Job, 'Namespace' | 'ID'>,
    private readonly tables: Tables,
    private readonly allocs: Pick<ProposedAllocs, 'proposed'>,
  ) {}

  /**
   * The reason why the volumes cannot be used, undefined if they can. @param requests of the group, ordered by alias
   */
  whyNot(node: Node, group: string, requests: readonly VolumeRequest[], allocName: string): string | undefined {
    const wanted = requests.map((request) => {
      const id = volumeSource(request, allocName);
      return { request, id, volume: this.tables.csi_volumes.get(namespacedKey(this.job.Namespace, id)) };
    });
    const missing = wanted.filter(({ volume }) => !volume).map(({ id }) => id);
    if (missing.length > 0) {
      for (const id of missing) this.waitFor(group, id);
      return `missing CSI volume(s) ${missing.toSorted(compareText).join(', ')}`;
    }
    for (const { request, volume } of wanted) {
      const reason = volume && (this.unreachable(node, volume) ?? this.unusable(group, request, volume));
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** Names of the volumes that the group waits for, ordered. */
  waitsFor(group: string): string[] {
    return [...(this.inTheWay.get(group) ?? [])].toSorted(compareText);
  }

  private waitFor(group: string, volumeId: string): void {
    const names = this.inTheWay.get(group) ?? new Set();
    this.inTheWay.set(group, names.add(volumeResource(this.job.Namespace, volumeId)));
  }

  /** The reason why the node cannot reach the volume (SC-76). */
  private unreachable(node: Node, volume: CSIVolume): string | undefined {
    const { PluginID } = volume;
    const instance = node.CSINodePlugins[PluginID];
    if (!instance) return `CSI plugin ${PluginID} is missing from client ${node.ID}`;
    if (!instance.Healthy) return `CSI plugin ${PluginID} is unhealthy on client ${node.ID}`;
    const limit = instance.NodeInfo?.MaxVolumes;
    if (limit !== undefined && limit !== Number.MAX_SAFE_INTEGER && this.volumesOf(PluginID, node) >= limit)
      return `CSI plugin ${PluginID} has the maximum number of volumes on client ${node.ID}`;
    return fitsTopology(volume, instance.NodeInfo?.AccessibleTopology)
      ? undefined
      : 'did not meet topology requirement';
  }

  /** Distinct volumes of the plugin that will be in use on the node (VL-164). */
  private volumesOf(pluginId: string, node: Node): number {
    const volumes = new Set<string>();
    for (const alloc of this.allocs.proposed(node)) {
      const job = alloc.Job ?? this.tables.jobs.get(namespacedKey(alloc.Namespace, alloc.JobID));
      for (const { request, source } of volumesAskedBy(alloc, job)) {
        if (request.Type !== 'csi') continue;
        const key = namespacedKey(alloc.Namespace, source);
        if (this.tables.csi_volumes.get(key)?.PluginID === pluginId) volumes.add(key);
      }
    }
    return volumes.size;
  }

  /** The reason why the volume cannot be used with this access (SC-77 to SC-79). */
  private unusable(group: string, { ReadOnly }: VolumeRequest, volume: CSIVolume): string | undefined {
    const plugin = this.tables.csi_plugins.get(volume.PluginID);
    const reason = ReadOnly ? unreadable(volume, plugin) : (unwritable(volume, plugin) ?? this.exhausted(volume));
    if (reason !== undefined) this.waitFor(group, volume.ID);
    return reason;
  }

  /**
   * The reason why all write claims are taken. Writers of the same job do not count, as they are about to be replaced
   * (VL-166).
   */
  private exhausted(volume: CSIVolume): string | undefined {
    if (hasFreeWriteClaim(volume)) return undefined;
    const reason = `CSI volume ${volume.ID} has exhausted its available writer claims`;
    for (const id of Object.keys(volume.WriteClaims).toSorted(compareText)) {
      const writer = this.tables.allocs.get(id);
      if (!writer)
        return `${reason} and is claimed by a garbage collected allocation ${id}; waiting for claim to be released`;
      if (writer.JobID !== this.job.ID || writer.Namespace !== this.job.Namespace) return reason;
    }
    return undefined;
  }
}

function unreadable(volume: CSIVolume, plugin: CSIPlugin | undefined): string | undefined {
  if (isReadSchedulable(volume, plugin)) return undefined;
  return `CSI volume ${volume.ID} is unschedulable or has exhausted its available reader claims`;
}

function unwritable(volume: CSIVolume, plugin: CSIPlugin | undefined): string | undefined {
  if (isWriteSchedulable(volume, plugin)) return undefined;
  return `CSI volume ${volume.ID} is unschedulable or is read-only`;
}

/** Whether the volume is accessible from the node's topology (VL-165). */
function fitsTopology({ Topologies }: CSIVolume, accessible: Topology | null | undefined): boolean {
  if (!Topologies?.length) return true;
  if (!accessible?.Segments) return false;
  const there = new Map(segmentsOf(accessible));
  return Topologies.some((topology) => segmentsOf(topology).every(([name, value]) => there.get(name) === value));
}

/** Segments in lower case: `Zone` and `zone` are the same (CW-12). */
const segmentsOf = ({ Segments }: Topology): [string, string][] =>
  Object.entries(Segments ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
