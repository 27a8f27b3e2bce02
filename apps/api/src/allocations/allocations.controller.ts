import { Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { encodeAllocation, encodeAllocationStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { boolParam, fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { found } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { printedList, StubTexts } from './stub-texts.js';
import { StopAllocation } from './stop-allocation.js';

/** `/v1/allocations`, `/v1/allocation/:id`, `/v1/allocation/:id/stop`. */
@Controller('v1')
export class AllocationsController {
  private readonly stubs = new StubTexts();

  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly stopAllocation: StopAllocation,
  ) {}

  @Get('allocations')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const stub = {
      resources: boolParam(query, 'resources') ?? false,
      taskStates: boolParam(query, 'task_states') ?? true,
    };
    const options = { namespaces: namespacesOf(query), prefix: uuidPrefixParam(query), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.list(request, reply, 'allocs', async () => {
      if (!filter) {
        const { rows, ...page } = await this.model.allocationsKept(options, this.stubs.of(stub));
        return { ...page, value: printedList(rows) };
      }
      const { rows, ...page } = await this.model.allocations({ ...options, keep: filter.keep() });
      return { ...page, value: rows.map((alloc) => encodeAllocationStub(alloc, stub)) };
    });
  }

  @Get('allocation/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'alloc lookup failed');
    await this.reads.answer(
      request,
      reply,
      [['allocs', id]],
      () => found(this.model.allocation(id), (row) => encodeAllocation(row, { withJob: true })),
      'alloc not found',
    );
  }

  @Put('allocation/:id/stop')
  stopPut(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.stop(id, request, reply);
  }

  @Post('allocation/:id/stop')
  stopPost(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.stop(id, request, reply);
  }

  private async stop(given: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const { query } = request;
    const answer = await this.stopAllocation.run(
      {
        id: given.toLowerCase(),
        noShutdownDelay: boolParam(query, 'no_shutdown_delay') ?? false,
        reschedule: boolParam(query, 'reschedule') ?? false,
      },
      Requester.of(request),
    );
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }
}
