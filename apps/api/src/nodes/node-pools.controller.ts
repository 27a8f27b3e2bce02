import { TransactionWriter } from '@waybill/writing';
import { Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, ofPool, poolInBody } from '../access/needs.js';
import { type NodePool } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { bothConditions, ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { readNodePool } from './node-pool-request.js';

/** The controller of `/v1/node/pools` and `/v1/node/pool/:name` (nodes.md section 13). */
@Controller('v1/node')
export class NodePoolsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
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
      listed(this.model.nodePools({ ...options, keep: bothConditions(filter?.keep<NodePool>(), mayRead) })),
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
