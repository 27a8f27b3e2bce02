import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { collectAllocs, hostStats, NatsRpc } from '@waybill/rpc';
import { badRequest, notFound } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { askAgent } from './agent-call.js';

/** `/v1/client/stats`, `/v1/client/gc`: what is asked of a machine, answered by its agent. */
@Controller('v1/client')
export class MachinesController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
  ) {}

  @Get('stats')
  async stats(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    sendJson(request, reply, await askAgent(this.rpc, hostStats, {}, { target }));
  }

  @Get('gc')
  gcGet(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  @Put('gc')
  gcPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  @Post('gc')
  gcPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  /** AG-213: every allocation that has ended. */
  private async collect(request: ApiRequest, reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    sendJson(request, reply, await askAgent(this.rpc, collectAllocs, { AllocID: '' }, { target }));
  }

  private async nodeOf(request: ApiRequest): Promise<string> {
    const nodeId = param(request.query, 'node_id')?.toLowerCase();
    if (!nodeId) throw badRequest('No local Node and node_id not provided'); // API-199
    const { row } = await this.model.node(nodeId);
    if (!row) throw notFound(`Unknown node ${nodeId}`);
    return row.ID;
  }
}
