import { Controller, Get, Req, Res } from '@nestjs/common';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';

/** What clients ask to find out whom they talk to: status, regions, agent. */
@Controller('v1')
export class ClusterController {
  constructor(private readonly identity: AgentIdentity) {}

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
    sendJson(request, reply, [this.identity.region]);
  }

  @Get('agent/self')
  self(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.identity.self());
  }

  @Get('agent/health')
  health(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, { server: { ok: true, message: 'ok' } });
  }

  @Get('agent/members')
  members(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.identity.members());
  }
}
