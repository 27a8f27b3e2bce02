import type { ProposedAllocs } from './proposed-allocs.js';
import {
  type Allocation,
  type HostVolume,
  type Job,
  type Node,
  type TaskGroupHostVolumeClaim,
  volumesAskedBy,
  volumeSource,
  type VolumeRequest,
} from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';

const INCOMPATIBLE = 'missing compatible host volumes';

/**
 * Whether an allocation can use its host volumes on a node (SC-68 to SC-74). One for each attempt. Cost for a node:
 * O(requests); O(allocations on the node) for a volume with a single writer; O(claims of the job) for sticky volumes.
 */
export class HostVolumeCheck {
  constructor(
    private readonly job: Pick<Job, 'Namespace' | 'ID'>,
    private readonly tables: Tables,
    private readonly allocs: Pick<ProposedAllocs, 'proposed'>,
  ) {}

  /** The reason if one of the requests is not met (SC-74), else undefined. */
  whyNot(node: Node, group: string, requests: readonly VolumeRequest[], allocName: string): string | undefined {
    return requests.every((request) => this.meets(node, group, request, volumeSource(request, allocName)))
      ? undefined
      : INCOMPATIBLE;
  }

  private meets(node: Node, group: string, request: VolumeRequest, name: string): boolean {
    const reported = node.HostVolumes[name];
    if (!reported) return false;
    // The agent's own volumes: read access as it is configured, and never sticky (SC-69).
    if (reported.ID === '') return !request.Sticky && (request.ReadOnly || !reported.ReadOnly);
    const volume = this.tables.host_volumes.get(namespacedKey(this.job.Namespace, reported.ID));
    if (volume?.State !== 'ready') return false; // a dynamic volume must be ready (SC-70)
    if (reported.ReadOnly && !request.ReadOnly) return false;
    return this.admits(node, volume, request) && (!request.Sticky || this.isWhereItBelongs(group, volume));
  }

  /** Whether the volume offers the requested access, and no other allocation excludes it (SC-71, SC-72). */
  private admits(node: Node, volume: HostVolume, request: VolumeRequest): boolean {
    const AccessMode = request.AccessMode || (request.ReadOnly ? 'single-node-reader-only' : 'single-node-writer');
    const AttachmentMode = request.AttachmentMode || 'file-system';
    const isOffered = (volume.RequestedCapabilities ?? []).some(
      (capability) => capability.AccessMode === AccessMode && capability.AttachmentMode === AttachmentMode,
    );
    if (!isOffered) return false;
    switch (AccessMode) {
      case 'single-node-reader-only':
        return request.ReadOnly;
      case 'single-node-writer':
        return !request.ReadOnly;
      case 'single-node-single-writer':
        return !this.allocs.proposed(node).some((alloc) => this.mayWrite(alloc, volume));
      default:
        return true;
    }
  }

  /** Whether the allocation may write to the volume; it may if its job or group was deleted (SC-72). */
  private mayWrite(alloc: Allocation, volume: HostVolume): boolean {
    if (alloc.Namespace !== volume.Namespace) return false;
    const job = alloc.Job ?? this.tables.jobs.get(namespacedKey(alloc.Namespace, alloc.JobID));
    if (!job?.TaskGroups.some(({ Name }) => Name === alloc.TaskGroup)) return true;
    return volumesAskedBy(alloc, job).some(
      ({ request, source }) => request.Type === 'host' && !request.ReadOnly && source === volume.Name,
    );
  }

  /** While claims of the group are unmet, an allocation may only be placed where one of them is met (SC-73). */
  private isWhereItBelongs(group: string, volume: HostVolume): boolean {
    const unmet = this.unmetClaims(group, volume.Name);
    return unmet.length === 0 || unmet.some(({ VolumeID }) => VolumeID === volume.ID);
  }

  private unmetClaims(group: string, volumeName: string): TaskGroupHostVolumeClaim[] {
    const { tables, job } = this;
    return [...tables.task_volume.by('job', namespacedKey(job.Namespace, job.ID))].filter((claim) => {
      if (claim.TaskGroupName !== group || claim.VolumeName !== volumeName) return false;
      const volume = tables.host_volumes.get(namespacedKey(claim.Namespace, claim.VolumeID));
      const node = volume && tables.nodes.get(volume.NodeID);
      if (!volume || !tables.allocs.has(claim.AllocID)) return false;
      return !node || !this.allocs.proposed(node).some((alloc) => this.isOfGroup(alloc, group));
    });
  }

  private isOfGroup(alloc: Allocation, group: string): boolean {
    return alloc.JobID === this.job.ID && alloc.Namespace === this.job.Namespace && alloc.TaskGroup === group;
  }
}
