import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocationStub, encodeDeployment } from '@waybill/model';
import { ReadModel, rowsOfDeployment } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
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
    await this.reads.answer(request, reply, [['deployment', '*']], () =>
      listed(this.model.deployments({ ...options, keep: filter?.keep() }), encodeDeployment),
    );
  }

  @Get('deployment/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'deployment lookup failed');
    await this.reads.answer(
      request,
      reply,
      [['deployment', id]],
      () => found(this.model.deployment(id), encodeDeployment),
      'deployment not found',
    );
  }

  @Get('deployment/allocations/:id')
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.reads.answer(request, reply, [['allocs', rowsOfDeployment(given.toLowerCase())]], () =>
      listed(this.model.deploymentAllocations(given.toLowerCase()), (alloc) => encodeAllocationStub(alloc)),
    );
  }
}
