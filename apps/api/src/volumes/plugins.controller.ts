import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { pluginList, pluginRead } from '../access/needs.js';
import {
  type AllocListStub,
  allocationStub,
  type CSIPlugin,
  encodeCSIPlugin,
  encodeCSIPluginStub,
} from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson } from '../http/reply.js';

const READ_JOB = { kind: 'namespace', anyOf: ['read-job'] } as const;

/** The controller of `/v1/plugins` and `/v1/plugin/csi/:id`. */
@Controller('v1')
export class PluginsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  /** Lists CSI plugins; without a type the list is empty, and another type gets an empty body (VL-271). */
  @Get('plugins')
  @Needs(pluginList)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const type = param(query, 'type') ?? '';
    if (type === '') return sendJson(request, reply, []);
    if (type !== 'csi') return sendEmpty(reply);
    const options = { prefix: param(query, 'prefix'), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['csi_plugins', '*']], async () => {
      const { index, rows, nextToken } = await this.model.volumes.plugins({ ...options, keep: filter?.keep() });
      return { index, nextToken, value: rows.map(encodeCSIPluginStub) };
    });
  }

  /** Returns a plugin with its allocations in the request's namespace (VL-203, VL-264). */
  @Get('plugin/csi/:id')
  @Needs(pluginRead)
  async readPlugin(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const namespaces = namespacesOf(request.query);
    const query = async () => {
      const { index, row } = await this.model.volumes.plugin(id);
      if (!row) return { index, value: undefined };
      const stubs = await this.instancesOf(row);
      const shown = namespaces === '*' ? stubs : stubs.filter(({ Namespace }) => namespaces.includes(Namespace));
      const readable = shown.filter(({ Namespace }) => request.access.has(READ_JOB, { namespace: Namespace }));
      return { index, value: encodeCSIPlugin(row, readable) };
    };
    await this.reads.answerObject(request, reply, [['csi_plugins', id]], { query, missing: 'plugin not found' });
  }

  /** Returns the allocations of a plugin's instances, the newest change first (2.5). */
  private async instancesOf({ Controllers, Nodes }: CSIPlugin): Promise<AllocListStub[]> {
    const ids = new Set([...Object.values(Controllers), ...Object.values(Nodes)].map(({ AllocID }) => AllocID));
    const allocs = await this.model.allocationsNamed([...ids]);
    return allocs.toSorted((a, b) => b.ModifyIndex - a.ModifyIndex).map((alloc) => allocationStub(alloc));
  }
}
