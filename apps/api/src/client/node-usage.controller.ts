import { Controller, Get, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { hostStats, NatsRpc } from '@waybill/rpc';
import { badRequest, notFound } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { askAgent } from './agent-call.js';

/** `/v1/client/stats`: what a machine uses, asked from its agent. */
@Controller('v1/client')
export class NodeUsageController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
  ) {}

  @Get('stats')
  async stats(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const nodeId = param(request.query, 'node_id')?.toLowerCase();
    if (!nodeId) throw badRequest('No local Node and node_id not provided'); // API-199
    const { row } = await this.model.node(nodeId);
    if (!row) throw notFound(`Unknown node ${nodeId}`);
    sendJson(request, reply, await askAgent(this.rpc, hostStats, {}, { target: row.ID }));
  }
}
