import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocation, encodeNode } from '@waybill/model';
import { ReadModel, rowsOfNode } from '@waybill/projection';
import { fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { NodeList } from './node-list.js';

/** `/v1/nodes`, `/v1/node/:id`: reads. */
@Controller('v1')
export class NodesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly nodeList: NodeList,
  ) {}

  @Get('nodes')
  list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.nodeList.answer(request, reply, { prefix: uuidPrefixParam(request.query) });
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
