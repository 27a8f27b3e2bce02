import { All, Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { ApiError, badRequest, invalidMethod, notFound, conflict } from '../http/api-error.js';
import { pathOf } from '../http/path.js';
import { param, params, type QueryString } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { addressOf, type Member, raftConfigurationOf } from './member.js';
import { Members } from './members.transport.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}$/i;

/**
 * The controller of `/v1/operator/raft/…`: what operators of the reference ask about its consensus, answered without
 * one (OP-60 to OP-63).
 */
@Controller('v1/operator/raft')
export class RaftController {
  constructor(private readonly members: Members) {}

  /** Returns the servers. A wrong method is answered with an empty 405, which no other path does (API-3). */
  @All('configuration')
  @Needs(management)
  async configuration(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    if (request.method !== 'GET') throw new ApiError(405, '');
    sendJson(request, reply, raftConfigurationOf(await this.members.list()));
  }

  /**
   * Refuses to remove a peer: only servers that answer are peers, so there is no dead one (OP-61). With a wrong method,
   * the path does not exist.
   */
  @All('peer')
  @Needs(management)
  async removePeer(@Req() { method, query }: ApiRequest): Promise<never> {
    if (method !== 'DELETE') throw notFound('Invalid method');
    if (param(query, 'address') !== undefined)
      throw badRequest('Removing a peer by address is not supported in the current raft protocol version');
    const id = param(query, 'id');
    if (!id) throw badRequest("Must specify the peer's ID to remove");
    if ((await this.members.list()).some(({ ID }) => ID === id))
      throw conflict(`peer "${id}" is alive: stop its process to remove it`);
    throw notFound(`id "${id}" was not found in the Raft configuration`);
  }

  @Put('transfer-leadership')
  @Needs(management)
  transferPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.transferLeadership(request, reply);
  }

  @Post('transfer-leadership')
  @Needs(management)
  transferPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.transferLeadership(request, reply);
  }

  /** Refuses all other paths (OP-63), and a transfer with a wrong method (API-3). */
  @All('*')
  @Needs(management)
  unknown(@Req() request: ApiRequest): never {
    if (pathOf(request.url).endsWith('/transfer-leadership')) throw invalidMethod();
    throw notFound('Invalid method');
  }

  /**
   * Answers a transfer of leadership. A transfer to the server that is shown as the leader changes nothing; one to
   * another server is refused (OP-62, OP-260).
   */
  private async transferLeadership(request: ApiRequest, reply: ApiReply): Promise<void> {
    const members = await this.members.list();
    const target = targetOf(request.query, members);
    if (target.ID !== members[0]?.ID)
      throw conflict(
        `${addressOf(target)} cannot be made the leader: roles are held by leases of services, not by the API`,
      );
    const peer = { Address: addressOf(target), ID: target.ID };
    sendJson(request, reply, { From: peer, To: peer, Noop: true, Err: null });
  }
}

/** @throws Refusal invalid */
function targetOf(query: QueryString, members: readonly Member[]): Member {
  const [ids, addresses] = [params(query, 'id'), params(query, 'address')];
  if (ids.length === 0 && addresses.length === 0) throw badRequest('must specify id or address');
  if (ids.length > 0 && addresses.length > 0) throw badRequest('must specify either id or address');
  if (ids.length > 1) throw badRequest('must specify only one id');
  if (addresses.length > 1) throw badRequest('must specify only one address');
  const [[id], [address]] = [ids, addresses];
  if (id === '') throw badRequest('id must be non-empty');
  if (address === '') throw badRequest('address must be non-empty');
  if (id !== undefined && !UUID.test(id)) throw badRequest(`id must be a uuid: ${JSON.stringify(id)} is none`);
  if (address !== undefined && !ADDRESS.test(address))
    throw badRequest(`address must be in IP:port format: ${JSON.stringify(address)} is not`);
  const target = members.find((one) => (id === undefined ? addressOf(one) === address : one.ID === id.toLowerCase()));
  if (!target)
    throw badRequest(
      `${id === undefined ? `address "${address ?? ''}"` : `id "${id}"`} was not found in the Raft configuration`,
    );
  return target;
}
