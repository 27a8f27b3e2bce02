import { Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inList, ofObject } from '../access/needs.js';
import { encodeAllocation, encodeAllocationStub } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { boolParam, fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { foundInNamespace } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { printedList, StubTexts } from './stub-texts.js';
import { StopAllocation } from './stop-allocation.js';

/** The controller of `/v1/allocations`, `/v1/allocation/:id` and `/v1/allocation/:id/stop`. */
@Controller('v1')
export class AllocationsController {
  private readonly stubs = new StubTexts();

  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly stopAllocation: StopAllocation,
  ) {}

  @Get('allocations')
  @Needs(inList('read-job'))
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const stub = {
      resources: boolParam(query, 'resources') ?? false,
      taskStates: boolParam(query, 'task_states') ?? true,
    };
    const namespaces = await allowedNamespacesOf(request);
    const options = { namespaces, prefix: uuidPrefixParam(query), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.list(request, reply, { tables: ['allocs'], scope: namespaces }, async () => {
      if (!filter) {
        const { rows, ...page } = await this.model.allocationsKept(options, this.stubs.of(stub));
        return { ...page, value: printedList(rows) };
      }
      const { rows, ...page } = await this.model.allocations({ ...options, keep: filter.keep() });
      return { ...page, value: rows.map((alloc) => encodeAllocationStub(alloc, stub)) };
    });
  }

  @Get('allocation/:id')
  @Needs(ofObject('read-job'))
  async readAllocation(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'alloc lookup failed');
    await this.reads.object(request, reply, {
      watched: [['allocs', id]],
      query: () => foundInNamespace(this.model.allocation(id), (row) => encodeAllocation(row, { withJob: true })),
      missing: 'alloc not found',
      shownTo: request.access,
    });
  }

  @Put('allocation/:id/stop')
  @Needs(ofObject('alloc-lifecycle'))
  stopPut(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.stop(id, request, reply);
  }

  @Post('allocation/:id/stop')
  @Needs(ofObject('alloc-lifecycle'))
  stopPost(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.stop(id, request, reply);
  }

  private async stop(given: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const { query } = request;
    const id = given.toLowerCase();
    await request.access.check(async () => (await this.model.allocation(id)).row, `Unknown allocation "${id}"`);
    const answer = await this.stopAllocation.stop(
      {
        id,
        noShutdownDelay: boolParam(query, 'no_shutdown_delay') ?? false,
        reschedule: boolParam(query, 'reschedule') ?? false,
      },
      Requester.of(request),
    );
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }
}
