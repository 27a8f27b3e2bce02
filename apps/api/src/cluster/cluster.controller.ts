import { Controller, Get, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { agentRead, nodeRead, open } from '../access/needs.js';
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

/** Without the database nobody knows the machine. */
const NOT_KNOWN = { row: undefined };
const NO_CLIENT: Health = { ok: false, message: 'client not enabled' };

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
  @Needs(open)
  async leader(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const [isHeld, [first]] = await Promise.all([this.leadership.isHeld(), this.members.list()]);
    sendJson(request, reply, isHeld && first ? addressOf(first) : '');
  }

  @Get('status/peers')
  @Needs(open)
  async peers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, (await this.members.list()).map(addressOf));
  }

  @Get('regions')
  @Needs(open)
  regions(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    sendJson(request, reply, this.forwarding.regions);
  }

  @Get('agent/self')
  @Needs(agentRead)
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
  @Needs(open)
  async health(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const asked = params(request.query, 'type');
    const unasked = asked.length === 0;
    const client = await this.clientHealth();
    const parts = {
      ...(((unasked && client?.ok) || asked.includes('client')) && { client: client ?? NO_CLIENT }),
      ...((unasked || asked.includes('server')) && { server: await this.serverHealth() }),
    };
    sendJson(request, reply, parts, Object.values(parts).every(({ ok }) => ok) ? 200 : 500);
  }

  /**
   * Of the agent beside this server; undefined: there is none. Unless somebody asks for it, one that is away is not
   * shown: whoever balances load over servers is not to lose one because of its agent.
   */
  private async clientHealth(): Promise<Health | undefined> {
    const nodeId = await this.neighbour.nodeId();
    if (nodeId === undefined) return undefined;
    const { row } = await this.model.node(nodeId).catch(() => NOT_KNOWN);
    const ok = row !== undefined && row.Status !== 'down' && row.Status !== 'disconnected';
    return { ok, message: ok ? 'ok' : 'no known servers' };
  }

  private async serverHealth(): Promise<Health> {
    const ok = await this.leadership.isHeld();
    return { ok, message: ok ? 'ok' : 'no leader' };
  }

  @Get('agent/members')
  @Needs(nodeRead)
  async agentMembers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, this.identity.members(await this.members.list()));
  }
}
