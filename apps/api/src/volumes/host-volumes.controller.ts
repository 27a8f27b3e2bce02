import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inList, inQuery } from '../access/needs.js';
import { allocationStub, encodeHostVolume } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { namespacedKey, usesHostVolume } from '@waybill/state';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { namespaceOf, param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { listed } from '../http/read-result.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** The controller of reads of `/v1/volume/host/:id` and `/v1/volumes/claims`. */
@Controller('v1')
export class HostVolumesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get(['volume/host/:id', 'volume/host/:id/*'])
  @Needs(inQuery('host-volume-read'))
  async readHostVolume(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const namespace = namespaceOf(request.query);
    const query = async () => {
      const { index, row: volume } = await this.model.volumes.hostVolume(namespace, id);
      if (!volume) return { index, value: undefined };
      const { rows } = await this.model.nodeAllocations(volume.NodeID);
      const users = rows.filter((alloc) => usesHostVolume(alloc, volume)).map((alloc) => allocationStub(alloc));
      return { index, value: encodeHostVolume(volume, users) };
    };
    const watched = [['host_volumes', namespacedKey(namespace, id)]] as const;
    await this.reads.answerObject(request, reply, watched, { query, missing: 'volume not found' });
  }

  /** Lists claims of task groups on sticky volumes (VL-294). */
  @Get('volumes/claims')
  @Needs(inList('host-volume-read'))
  async claims(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: await allowedNamespacesOf(request),
      prefix: param(query, 'prefix'),
      jobId: param(query, 'job_id') || undefined,
      taskGroup: param(query, 'task_group') || undefined,
      volumeName: param(query, 'volume_name') || undefined,
      ...pageOf(query),
    };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['task_volume', '*']], () =>
      listed(this.model.volumes.claims({ ...options, keep: filter?.keep() })),
    );
  }
}
