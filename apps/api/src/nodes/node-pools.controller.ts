import { TransactionWriter } from '@waybill/writing';
import { Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, inList, ofPool, poolInBody } from '../access/needs.js';
import { ALL_NODES_POOL, type NodePool } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { both, ListFilter } from '../http/list-filter.js';
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
  @Needs(anybody)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = { prefix: param(query, 'prefix'), ...pageOf(query) };
    const filter = ListFilter.of(query);
    const mayRead = ({ Name }: NodePool): boolean =>
      request.access.has({ kind: 'nodePool', capability: 'read' }, { pool: Name });
    await this.reads.answer(request, reply, [['node_pools', '*']], () =>
      listed(this.model.nodePools({ ...options, keep: both(filter?.keep<NodePool>(), mayRead) })),
    );
  }

  @Put('pools')
  @Needs(poolInBody('write'))
  putAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Post('pools')
  @Needs(poolInBody('write'))
  postAny(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, undefined);
  }

  @Get('pool/:name')
  @Needs(ofPool('read'))
  async readNodePool(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const query = () => found(this.model.nodePool(name));
    await this.reads.answerObject(request, reply, [['node_pools', name]], { query, missing: 'node pool not found' });
  }

  @Put('pool/:name')
  @Needs(ofPool('write'))
  put(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Post('pool/:name')
  @Needs(ofPool('write'))
  post(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.upsert(request, reply, name);
  }

  @Delete('pool/:name')
  @Needs(ofPool('delete'))
  async delete(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { index } = await this.writes.write(
      { type: 'NodePoolDelete', payload: { Names: [name] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }

  @Get('pool/:name/nodes')
  @Needs(ofPool('read'))
  nodes(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must({ kind: 'node', level: 'read' });
    withoutPrefix(request);
    return this.nodeList.answer(request, reply, { pool: name === ALL_NODES_POOL ? undefined : name });
  }

  @Get('pool/:name/jobs')
  @Needs(inList('list-jobs'))
  jobs(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must({ kind: 'nodePool', capability: 'read' }, { pool: name });
    withoutPrefix(request);
    return this.jobList.answer(request, reply, { pool: name });
  }

  private async upsert(request: ApiRequest, reply: ApiReply, name: string | undefined): Promise<void> {
    const pool = readNodePool(request.body, name);
    if (name === undefined) request.access.inPool(pool.Name);
    const { index } = await this.writes.write(
      { type: 'NodePoolUpsert', payload: { NodePools: [pool] } },
      Requester.of(request).author,
    );
    setWriteIndex(reply, index);
    sendEmpty(reply);
  }
}

/** Refuses a prefix in the lists of one pool (ND-187). */
function withoutPrefix({ query }: ApiRequest): void {
  if (param(query, 'prefix')) throw badRequest('prefix argument not allowed');
}
