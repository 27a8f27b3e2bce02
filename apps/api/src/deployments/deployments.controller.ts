import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocationStub, encodeDeployment } from '@waybill/model';
import { ReadModel, rowsOfDeployment } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** `/v1/deployments`, `/v1/deployment/:id` (reads). */
@Controller('v1')
export class DeploymentsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('deployments')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = { namespaces: namespacesOf(query), prefix: uuidPrefixParam(query), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['deployment', '*']], async () => {
      const { index, rows, nextToken } = await this.model.deployments({ ...options, keep: filter?.keep() });
      return { index, nextToken, value: rows.map(encodeDeployment) };
    });
  }

  @Get('deployment/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'deployment lookup failed');
    await this.reads.answer(
      request,
      reply,
      [['deployment', id]],
      async () => {
        const { index, row } = await this.model.deployment(id);
        return { index, value: row && encodeDeployment(row) };
      },
      'deployment not found',
    );
  }

  @Get('deployment/allocations/:id')
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.reads.answer(request, reply, [['allocs', rowsOfDeployment(given.toLowerCase())]], async () => {
      const { index, rows } = await this.model.deploymentAllocations(given.toLowerCase());
      return { index, value: rows.map((alloc) => encodeAllocationStub(alloc)) };
    });
  }
}
