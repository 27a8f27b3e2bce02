import { Controller, Get, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';

/** What clients ask to find out whom they talk to: status, regions, agent, namespaces. */
@Controller('v1')
export class ClusterController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly identity: AgentIdentity,
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

  @Get('namespaces')
  async namespaces(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const page = pageOf(request.query);
    const filter = ListFilter.of(request.query);
    await this.reads.answer(request, reply, [['namespaces', '*']], async () => {
      const { index, rows, nextToken } = await this.model.namespaces({ ...page, keep: filter?.keep() });
      return { index, nextToken, value: rows };
    });
  }
}
