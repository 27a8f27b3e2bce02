import { All, Controller, Post, Put, Req, Res } from '@nestjs/common';
import { ApiError, badRequest, failed, notFound } from '../http/api-error.js';
import { pathOf } from '../http/path.js';
import { param, params, type QueryString } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { AgentIdentity } from './agent-identity.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}$/i;

/** `/v1/operator/raft/…`: what operators of the reference ask about its consensus, without one (OP-60 to OP-63). */
@Controller('v1/operator/raft')
export class RaftController {
  constructor(private readonly identity: AgentIdentity) {}

  /** API-3: the one wrong method that is answered without a word. */
  @All('configuration')
  configuration(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    if (request.method !== 'GET') throw new ApiError(405, '');
    sendJson(request, reply, this.identity.raftConfiguration());
  }

  /** OP-61: only those that answer are peers, so none is dead. Here a wrong method is a path that does not exist. */
  @All('peer')
  removePeer(@Req() { method, query }: ApiRequest): never {
    if (method !== 'DELETE') throw notFound('Invalid method');
    if (param(query, 'address') !== undefined)
      throw badRequest('Removing a peer by address is not supported in the current raft protocol version');
    const id = param(query, 'id');
    if (!id) throw badRequest("Must specify the peer's ID to remove");
    if (id === this.identity.instanceId) throw failed(`peer "${id}" is alive: stop its process to remove it`);
    throw failed(`id "${id}" was not found in the Raft configuration`);
  }

  @Put('transfer-leadership')
  transferPut(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.transfer(request, reply);
  }

  @Post('transfer-leadership')
  transferPost(@Req() request: ApiRequest, @Res() reply: ApiReply): void {
    this.transfer(request, reply);
  }

  /** OP-63; of transfers only the method was wrong (API-3). */
  @All('*')
  unknown(@Req() request: ApiRequest): never {
    if (pathOf(request.url).endsWith('/transfer-leadership')) throw new ApiError(405, 'Invalid method');
    throw notFound('Invalid method');
  }

  /** OP-62, OP-260: the only peer there is leads already. */
  private transfer(request: ApiRequest, reply: ApiReply): void {
    this.refuseTarget(request.query);
    const peer = { Address: this.identity.address, ID: this.identity.instanceId };
    sendJson(request, reply, { From: peer, To: peer, Noop: true, Err: null });
  }

  /** @throws ApiError 400 */
  private refuseTarget(query: QueryString): void {
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
    if (id !== undefined && id.toLowerCase() !== this.identity.instanceId)
      throw badRequest(`id "${id}" was not found in the Raft configuration`);
    if (address !== undefined && address !== this.identity.address)
      throw badRequest(`address "${address}" was not found in the Raft configuration`);
  }
}
