import type { ProposedAllocs } from './proposed-allocs.js';
import type { Job, Node, TaskGroup, VolumeRequest } from '@waybill/model';
import { compareText, type Tables } from '@waybill/state';
import { CsiVolumeCheck } from './csi-volume-check.js';
import { HostVolumeCheck } from './host-volume-check.js';

interface Requests {
  readonly host: readonly VolumeRequest[];
  readonly csi: readonly VolumeRequest[];
}

/**
 * Whether an allocation can use the volumes of its group on a node (section 7). Volumes are not part of a node's class,
 * so every node is checked. One for each attempt.
 */
export class VolumeFeasibility {
  private readonly requests = new Map<string, Requests>();
  private readonly hostVolumes: HostVolumeCheck;
  private readonly csiVolumes: CsiVolumeCheck;

  constructor(job: Job, tables: Tables, allocs: Pick<ProposedAllocs, 'proposed'>) {
    for (const group of job.TaskGroups) this.requests.set(group.Name, requestsOf(group));
    this.hostVolumes = new HostVolumeCheck(job, tables, allocs);
    this.csiVolumes = new CsiVolumeCheck(job, tables, allocs);
  }

  /** The reason as clients see it, undefined if the volumes can be used. */
  whyNot(node: Node, group: string, allocName: string): string | undefined {
    const requests = this.requests.get(group);
    if (!requests) return undefined;
    return (
      this.hostVolumes.whyNot(node, group, requests.host, allocName) ??
      (requests.csi.length > 0 ? this.csiVolumes.whyNot(node, group, requests.csi, allocName) : undefined)
    );
  }

  /** Volumes that no node could offer, for the blocked evaluation (SC-75, VL-169). */
  missingResources(group: string): string[] {
    return this.csiVolumes.waitsFor(group);
  }

  /** Whether feasibility depends on allocations of other nodes, as that of sticky volumes does (SC-73). */
  dependsOnOtherNodes(group: string): boolean {
    return this.requests.get(group)?.host.some(({ Sticky }) => Sticky) ?? false;
  }
}

/**
 * Whether the group has volumes for each allocation: then the failure of one allocation implies nothing for the next
 * (SC-67).
 */
export function hasPerAllocVolumes(group: Pick<TaskGroup, 'Volumes'>): boolean {
  return Object.values(group.Volumes ?? {}).some(({ PerAlloc }) => PerAlloc);
}

export function hasCsiVolumes(group: Pick<TaskGroup, 'Volumes'>): boolean {
  return Object.values(group.Volumes ?? {}).some(({ Type }) => Type === 'csi');
}

/** The requests by alias, ascending (VL-163). */
function requestsOf(group: TaskGroup): Requests {
  const all = Object.entries(group.Volumes ?? {})
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, request]) => request);
  return { host: all.filter(({ Type }) => Type !== 'csi'), csi: all.filter(({ Type }) => Type === 'csi') };
}
