import { Controller, Get, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { params } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { RegionForwarding } from '../regions/forwarding.transport.js';
import { AgentIdentity } from './agent-identity.js';
import { Leadership } from './leadership.js';
import { addressOf } from './member.js';
import { Members } from './members.transport.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';
import { runtimeStats } from './runtime-stats.store.js';

interface Health {
  readonly ok: boolean;
  readonly message: string;
}

/** What clients ask to find out whom they talk to: status, regions, agent. */
@Controller('v1')
export class ClusterController {
  constructor(
    private readonly identity: AgentIdentity,
    private readonly members: Members,
    private readonly leadership: Leadership,
    private readonly neighbour: NeighbouringAgent,
    private readonly model: ReadModel,
    private readonly forwarding: RegionForwarding,
  ) {}

  @Get('status/leader')
  async leader(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const [isHeld, [first]] = await Promise.all([this.leadership.isHeld(), this.members.list()]);
    sendJson(request, reply, isHeld && first ? addressOf(first) : '');
  }

  @Get('status/peers')
  async peers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, (await this.members.list()).map(addressOf));
  }

  @Get('regions')
  regions(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.forwarding.regions);
  }

  @Get('agent/self')
  async self(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const [nodeId, hasLeader, members, appliedIndex] = await Promise.all([
      this.neighbour.nodeId(),
      this.leadership.isHeld(),
      this.members.list(),
      this.model.appliedIndex().catch(() => 0), // who asks wants to know what is up, not what is down
    ]);
    const state = { nodeId, hasLeader, members, appliedIndex, runtime: runtimeStats() };
    sendJson(request, reply, this.identity.self(state));
  }

  /** API-237, OP-75: what is asked for and not here is said in the same form, as a failure. */
  @Get('agent/health')
  async health(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const asked = params(request.query, 'type');
    const parts = {
      ...(asked.includes('client') && { client: { ok: false, message: 'client not enabled' } }),
      ...((asked.length === 0 || asked.includes('server')) && { server: await this.serverHealth() }),
    };
    sendJson(request, reply, parts, Object.values(parts).every(({ ok }) => ok) ? 200 : 500);
  }

  private async serverHealth(): Promise<Health> {
    const ok = await this.leadership.isHeld();
    return { ok, message: ok ? 'ok' : 'no leader' };
  }

  @Get('agent/members')
  async agentMembers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, this.identity.members(await this.members.list()));
  }
}
