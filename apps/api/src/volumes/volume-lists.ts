import {
  type Allocation,
  encodeCSIVolume,
  encodeCSIVolumeStub,
  encodeHostVolumeStub,
  volumesAskedBy,
} from '@waybill/model';
import type { ReadModel, VolumeWithPlugin } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/**
 * VolumeLists answers `GET /v1/volumes`: CSI volumes and host volumes as stubs, with current health (VL-259 to VL-263).
 */
export class VolumeLists {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  async csi(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { query } = request;
    const namespaces = await allowedNamespacesOf(request);
    const chosen = {
      namespaces,
      prefix: param(query, 'prefix'),
      pluginId: param(query, 'plugin_id') || undefined,
      ...pageOf(query),
    };
    const nodeId = param(query, 'node_id') || undefined;
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['csi_volumes', '*']], async () => {
      const named = nodeId === undefined ? undefined : await this.volumesOn(nodeId);
      // The filter sees the encoded volume, so that nobody can guess a secret with it (VL-260).
      const keep = filter?.keep<VolumeWithPlugin>(({ volume, plugin }) => encodeCSIVolume(volume, plugin));
      const { index, rows, nextToken } = await this.model.volumes.list({ ...chosen, named, keep });
      return { index, nextToken, value: rows.map(({ volume, plugin }) => encodeCSIVolumeStub(volume, plugin)) };
    });
  }

  /** Lists host volumes whose name or ID begins with the prefix (VL-306). */
  async host(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: await allowedNamespacesOf(request),
      prefix: param(query, 'prefix'),
      nodeId: param(query, 'node_id') || undefined,
      nodePool: param(query, 'node_pool') || undefined,
      ...pageOf(query),
    };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['host_volumes', '*']], async () => {
      const { index, rows, nextToken } = await this.model.volumes.hostVolumes({ ...options, keep: filter?.keep() });
      return { index, nextToken, value: rows.map(encodeHostVolumeStub) };
    });
  }

  /** Finds the CSI volumes that running allocations of a node request (VL-262, VL-179). */
  private async volumesOn(nodeId: string): Promise<{ Namespace: string; ID: string }[]> {
    const { rows } = await this.model.nodeAllocations(nodeId);
    return rows
      .filter((alloc) => alloc.DesiredStatus === 'run' || alloc.ClientStatus === 'running')
      .flatMap(csiVolumesOf);
  }
}

function csiVolumesOf(alloc: Allocation): { Namespace: string; ID: string }[] {
  return volumesAskedBy(alloc, alloc.Job)
    .filter(({ request }) => request.Type === 'csi')
    .map(({ source }) => ({ Namespace: alloc.Namespace, ID: source }));
}
