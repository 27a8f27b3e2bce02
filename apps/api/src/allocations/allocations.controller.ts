import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocation, encodeAllocationStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { boolParam, fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** `/v1/allocations`, `/v1/allocation/:id`. */
@Controller('v1')
export class AllocationsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('allocations')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const stub = {
      resources: boolParam(query, 'resources') ?? false,
      taskStates: boolParam(query, 'task_states') ?? true,
    };
    const options = { namespaces: namespacesOf(query), prefix: uuidPrefixParam(query), ...pageOf(query) };
    await this.reads.answer(request, reply, [['allocs', '*']], async () => {
      const { index, rows, nextToken } = await this.model.allocations(options);
      return { index, nextToken, value: rows.map((alloc) => encodeAllocationStub(alloc, stub)) };
    });
  }

  @Get('allocation/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'alloc lookup failed');
    await this.reads.answer(
      request,
      reply,
      [['allocs', id]],
      async () => {
        const { index, row } = await this.model.allocation(id);
        return { index, value: row && encodeAllocation(row, { withJob: true }) };
      },
      'alloc not found',
    );
  }
}
