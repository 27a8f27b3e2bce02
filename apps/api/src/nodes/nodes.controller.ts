import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocation, encodeNode, encodeNodeStub } from '@waybill/model';
import { ReadModel, rowsOfNode } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { boolParam, fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** `/v1/nodes`, `/v1/node/:id`. */
@Controller('v1')
export class NodesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('nodes')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const bad = (text: string): Error => badRequest(`Failed to parse node list fields: ${text}`);
    const stub = { resources: boolParam(query, 'resources', bad) ?? false, os: boolParam(query, 'os', bad) ?? false };
    const options = { prefix: uuidPrefixParam(query), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['nodes', '*']], async () => {
      const { index, rows, nextToken } = await this.model.nodes({ ...options, keep: filter?.keep() });
      return { index, nextToken, value: rows.map((node) => encodeNodeStub(node, stub)) };
    });
  }

  @Get('node/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'node lookup failed');
    await this.reads.answer(
      request,
      reply,
      [['nodes', id]],
      async () => {
        const { index, row } = await this.model.node(id);
        return { index, value: row && encodeNode(row) };
      },
      'node not found',
    );
  }

  @Get('node/:id/allocations')
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'node lookup failed');
    await this.reads.answer(request, reply, [['allocs', rowsOfNode(id)]], async () => {
      const { index, rows } = await this.model.nodeAllocations(id);
      return { index, value: rows.map((alloc) => encodeAllocation(alloc, { withJob: true })) };
    });
  }
}
