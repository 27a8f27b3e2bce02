import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { agentRead, nodeRead, open } from '../access/needs.js';
import { params } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';
import { AgentStatus, type Health } from './agent-status.js';
import { Members } from './members.transport.js';

const NO_CLIENT: Health = { ok: false, message: 'client not enabled' };

/**
 * The controller of `/v1/agent/self`, `/v1/agent/health` and `/v1/agent/members`: what this server reports about itself
 * and its peers.
 */
@Controller('v1/agent')
export class AgentSelfController {
  constructor(
    private readonly identity: AgentIdentity,
    private readonly status: AgentStatus,
    private readonly members: Members,
  ) {}

  @Get('self')
  @Needs(agentRead)
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, this.identity.self(await this.status.state()));
  }

  /**
   * Answers with a failure in the same form if a requested part is not here (API-237, OP-75). An absent agent is shown
   * only on request, because a load balancer must not remove a server because of its agent.
   */
  @Get('health')
  @Needs(open)
  async health(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const asked = params(request.query, 'type');
    const unasked = asked.length === 0;
    const client = await this.status.clientHealth();
    const parts = {
      ...(((unasked && client?.ok) || asked.includes('client')) && { client: client ?? NO_CLIENT }),
      ...((unasked || asked.includes('server')) && { server: await this.status.serverHealth() }),
    };
    sendJson(request, reply, parts, Object.values(parts).every(({ ok }) => ok) ? 200 : 500);
  }

  @Get('members')
  @Needs(nodeRead)
  async agentMembers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, this.identity.members(await this.members.list()));
  }
}
