import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inList, ofObject } from '../access/needs.js';
import { encodeAllocationStub, encodeDeployment } from '@waybill/model';
import { ReadModel, rowsOfDeployment } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { foundInNamespace, listed, listedVisible } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** The controller of reads of `/v1/deployments` and `/v1/deployment/:id`. */
@Controller('v1')
export class DeploymentsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('deployments')
  @Needs(inList('read-job'))
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const namespaces = await allowedNamespacesOf(request);
    const options = { namespaces, prefix: uuidPrefixParam(query), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.list(request, reply, { tables: ['deployment'], scope: namespaces }, () =>
      listed(this.model.deployments({ ...options, keep: filter?.keep() }), encodeDeployment),
    );
  }

  @Get('deployment/:id')
  @Needs(ofObject('read-job'))
  async readDeployment(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'deployment lookup failed');
    await this.reads.object(request, reply, {
      watched: [['deployment', id]],
      query: () => foundInNamespace(this.model.deployment(id), encodeDeployment),
      missing: 'deployment not found',
      shownTo: request.access,
    });
  }

  @Get('deployment/allocations/:id')
  @Needs(ofObject('read-job'))
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.reads.answer(request, reply, [['allocs', rowsOfDeployment(given.toLowerCase())]], () =>
      listedVisible(request.access, this.model.deploymentAllocations(given.toLowerCase()), (alloc) =>
        encodeAllocationStub(alloc),
      ),
    );
  }
}
