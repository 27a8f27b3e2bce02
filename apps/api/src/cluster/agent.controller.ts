import { All, Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { agentRead, agentWrite } from '../access/needs.js';
import { ApiError, badRequest, forbidden, notFound } from '../http/api-error.js';
import { boolParam, param, params } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';
import { addressOf } from './member.js';
import { Members } from './members.transport.js';
import { NeighbouringAgent } from './neighbouring-agent.store.js';
import { ReloadableFiles } from './reloadable-files.js';

/** The operations of gossip keys. There is no gossip here (OP-80). */
const KEYRING_OPERATIONS = new Set(['install', 'use', 'remove']);

/**
 * The controller of operators' orders to an agent (OP-76 to OP-86). Requests that have no meaning without gossip and
 * Raft say so.
 */
@Controller('v1/agent')
export class AgentController {
  constructor(
    private readonly identity: AgentIdentity,
    private readonly members: Members,
    private readonly neighbour: NeighbouringAgent,
    private readonly files: ReloadableFiles,
  ) {}

  /** Returns the servers of the agent beside this server, if there is one (OP-78). */
  @Get('servers')
  @Needs(agentRead)
  async servers(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.refuseWithoutAgent();
    sendJson(request, reply, await this.knownServers());
  }

  @Put('servers')
  @Needs(agentWrite)
  setServersPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.setServers(request, reply);
  }

  @Post('servers')
  @Needs(agentWrite)
  setServersPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.setServers(request, reply);
  }

  @Put('join')
  @Needs(agentWrite)
  joinPut(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.join(request, reply);
  }

  @Post('join')
  @Needs(agentWrite)
  joinPost(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.join(request, reply);
  }

  @Put('force-leave')
  @Needs(agentWrite)
  forceLeavePut(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.forceLeave(request, reply);
  }

  @Post('force-leave')
  @Needs(agentWrite)
  forceLeavePost(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.forceLeave(request, reply);
  }

  @Put('reload')
  @Needs(agentWrite)
  reloadPut(@Res() reply: ApiReply): Promise<void> {
    return this.reload(reply);
  }

  @Post('reload')
  @Needs(agentWrite)
  reloadPost(@Res() reply: ApiReply): Promise<void> {
    return this.reload(reply);
  }

  /** Reloads the files (OP-79). All other settings come from the environment, which does not change while a process runs. */
  private async reload(reply: ApiReply): Promise<void> {
    await this.files.reload();
    sendEmpty(reply);
  }

  @All('keyring/:operation')
  @Needs(agentWrite)
  keyring(@Param('operation') operation: string, @Req() request: ApiRequest, @Res() reply: ApiReply): void {
    if (operation === 'list') return sendJson(request, reply, { Messages: {}, Keys: {}, NumNodes: 1 });
    if (KEYRING_OPERATIONS.has(operation)) throw new ApiError(501, 'Waybill has no gossip, and so no gossip keys');
    throw notFound('resource not found');
  }

  /**
   * Only callers with the right may see what a process has in memory. While access control is off, nobody has it
   * (OP-85, OP-86).
   */
  @Get(['host', 'pprof/:profile'])
  @Needs(agentWrite)
  debug(@Req() { access }: ApiRequest): never {
    if (!access.caller.token) throw forbidden('Permission denied');
    throw new ApiError(501, 'Waybill does not collect profiles or facts about its host; see docs/gaps.md');
  }

  @Get('pprof')
  @Needs(agentWrite)
  profiles(): never {
    throw notFound('Invalid method');
  }

  /**
   * Checks the servers of the request. Agents find their servers by their configuration, so the request must name those
   * that exist. @throws Refusal invalid
   */
  private async setServers(request: ApiRequest, reply: ApiReply): Promise<void> {
    await this.refuseWithoutAgent();
    const addresses = params(request.query, 'address').filter((address) => address !== '');
    if (addresses.length === 0) throw badRequest('missing server address');
    const known = await this.knownServers();
    const strange = addresses.find((address) => !known.includes(address));
    if (strange !== undefined)
      throw badRequest(`${strange} is not a server of this cluster: an agent finds its servers by WAYBILL_NATS_URL`);
    sendEmpty(reply);
  }

  private async knownServers(): Promise<string[]> {
    return (await this.members.list()).map(addressOf).toSorted();
  }

  private async refuseWithoutAgent(): Promise<void> {
    if ((await this.neighbour.nodeId()) === undefined) throw notOnThisAgent();
  }

  /**
   * Counts the addresses that are members already (OP-76). Servers join by their configuration, not by this request.
   */
  private join(request: ApiRequest, reply: ApiReply): void {
    const addresses = params(request.query, 'address').filter((address) => address !== '');
    if (addresses.length === 0) throw badRequest('missing address to join');
    const strangers = addresses.filter((address) => !this.identity.answersTo(address));
    const error = strangers.map((address) => `${address} is not a member: servers join by their configuration`);
    sendJson(request, reply, {
      num_joined: addresses.length - strangers.length,
      error: error.join('; '),
      warning: '',
    });
  }

  /** Does nothing (OP-77): only servers that answer are members, so there is no dead one to remove. */
  private forceLeave(request: ApiRequest, reply: ApiReply): void {
    if (!param(request.query, 'node')) throw badRequest('missing node to force leave');
    boolParam(request.query, 'prune', () => badRequest('invalid prune value'));
    sendEmpty(reply);
  }
}

const notOnThisAgent = (): ApiError => new ApiError(501, 'Invalid method');
