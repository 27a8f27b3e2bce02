import { TransactionWriter } from '@waybill/writing';
import { Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { ALL_NODES_POOL } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { JobList } from '../jobs/job-list.js';
import { NodeList } from './node-list.js';
import { readNodePool } from './node-pool-request.js';

/** `/v1/node/pools`, `/v1/node/pool/:name` and what is in a pool (nodes.md section 13). */
@Controller('v1/node')
export class NodePoolsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly nodeList: NodeList,
    private readonly jobList: JobList,
    private readonly writes: TransactionWriter,
  ) {}

  @Get('pools')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = { prefix: param(query, 'prefix'), ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.answer(request, reply, [['node_pools', '*']], () =>
      listed(this.model.nodePools({ ...options, keep: filter?.keep() })),
    );
  }

  @Put('pools')
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('pools')
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Get('pool/:name')
  async read(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const query = () => found(this.model.nodePool(name));
    await this.reads.answer(request, reply, [['node_pools', name]], query, 'node pool not found');
  }

  @Put('pool/:name')
  put(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Post('pool/:name')
  post(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Delete('pool/:name')
  async delete(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { index } = await this.writes.write(
      { type: 'NodePoolDelete', payload: { Names: [name] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  @Get('pool/:name/nodes')
  nodes(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    withoutPrefix(request);
    return this.nodeList.answer(request, reply, { pool: name === ALL_NODES_POOL ? undefined : name });
  }

  @Get('pool/:name/jobs')
  jobs(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    withoutPrefix(request);
    return this.jobList.answer(request, reply, { pool: name });
  }

  private async upsert(request: ApiRequest, reply: ApiReply, name: string | undefined): Promise<void> {
    const pool = readNodePool(request.body, name);
    const { index } = await this.writes.write(
      { type: 'NodePoolUpsert', payload: { NodePools: [pool] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }
}

/** ND-187. */
function withoutPrefix({ query }: ApiRequest): void {
  if (param(query, 'prefix')) throw badRequest('prefix argument not allowed');
}
