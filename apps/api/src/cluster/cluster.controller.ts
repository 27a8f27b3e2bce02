import { Controller, Get, Req, Res } from '@nestjs/common';
import { params } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { RegionForwarding } from '../regions/forwarding.transport.js';
import { AgentIdentity } from './agent-identity.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';

/** What clients ask to find out whom they talk to: status, regions, agent. */
@Controller('v1')
export class ClusterController {
  constructor(
    private readonly identity: AgentIdentity,
    private readonly neighbour: NeighbouringAgent,
    private readonly forwarding: RegionForwarding,
  ) {}

  @Get('status/leader')
  leader(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.identity.address);
  }

  @Get('status/peers')
  peers(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, [this.identity.address]);
  }

  @Get('regions')
  regions(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.forwarding.regions);
  }

  @Get('agent/self')
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, this.identity.self(await this.neighbour.nodeId()));
  }

  /** API-237, OP-75: what is asked for and not here is said in the same form, as a failure. */
  @Get('agent/health')
  health(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    const asked = params(request.query, 'type');
    const client = asked.includes('client') && { client: { ok: false, message: 'client not enabled' } };
    const server = (asked.length === 0 || asked.includes('server')) && { server: { ok: true, message: 'ok' } };
    sendJson(request, reply, { ...client, ...server }, client ? 500 : 200);
  }

  @Get('agent/members')
  members(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.identity.members());
  }
}
