import { identityText } from '../access/caller.js';
import { HolderWrites } from '../http/holder-writes.js';
import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { nodeWrite } from '../access/needs.js';
import {
  type Call,
  evaluateNode,
  type NodeCommandRequest,
  type NodeCommandResponse,
  purgeNode,
  updateNodeDrain,
  updateNodeEligibility,
} from '@waybill/rpc';
import { AgentIdentity } from '../cluster/agent-identity.js';
import { notFound } from '../http/api-error.js';
import { pathOf } from '../http/path.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { readDrain, readEligibility } from './node-write-requests.js';

const ROUTES = [':id/drain', ':id/eligibility', ':id/evaluate', ':id/purge'];

/**
 * The controller of `/v1/node/:id/{drain,eligibility,evaluate,purge}` by PUT or POST (ND-14). It forwards the write to
 * the service of nodes.
 */
@Controller('v1/node')
export class NodeWritesController {
  constructor(
    private readonly writes: HolderWrites,
    private readonly identity: AgentIdentity,
  ) {}

  @Put(ROUTES)
  @Needs(nodeWrite)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Post(ROUTES)
  @Needs(nodeWrite)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const NodeID = (request.params['id'] ?? '').toLowerCase();
    switch (pathOf(request.url).split('/').at(-1)) {
      case 'drain':
        return this.sendCommand(
          updateNodeDrain,
          { ...readDrain(request.body), NodeID, UpdatedBy: identityText(request.access.caller) },
          request,
          reply,
        );
      case 'eligibility': {
        const { NodeID: named, Eligibility } = readEligibility(request.body);
        return this.sendCommand(updateNodeEligibility, { NodeID: named || NodeID, Eligibility }, request, reply);
      }
      case 'evaluate':
        return this.update(evaluateNode, { NodeID }, request, reply);
      case 'purge':
        return this.update(purgeNode, { NodeID }, request, reply);
      default:
        throw notFound('');
    }
  }

  /** Sends the short answer of drain and eligibility (section 2.5). */
  private async sendCommand<Req extends NodeCommandRequest>(
    call: Call<Req, NodeCommandResponse>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    const { EvalIDs, EvalCreateIndex, NodeModifyIndex, Index } = await this.writes.callHolder(
      call,
      wanted,
      request,
      reply,
    );
    this.send(request, reply, { EvalIDs, EvalCreateIndex, NodeModifyIndex, Index });
  }

  /**
   * Sends the whole node update answer (section 2.5): the answer for agents without the members that only agents need.
   */
  private async update<Req extends NodeCommandRequest>(
    call: Call<Req, NodeCommandResponse>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    const answer = await this.writes.callHolder(call, wanted, request, reply);
    this.send(request, reply, {
      ...answer,
      HeartbeatTTL: 0,
      Features: 0,
      LeaderRPCAddr: this.identity.address,
      Servers: [{ RPCAdvertiseAddr: this.identity.address, RPCMajorVersion: 1, RPCMinorVersion: 1, Datacenter: 'dc1' }],
      SignedIdentity: null,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    });
  }

  private send<Answer extends Answered>(request: ApiRequest, reply: ApiReply, answer: Answer): void {
    const EvalIDs = answer.EvalIDs.length > 0 ? answer.EvalIDs : null; // an empty list is null (API-206)
    sendJson(request, reply, { ...answer, EvalIDs });
  }
}

type Answered = Pick<NodeCommandResponse, 'EvalIDs' | 'EvalCreateIndex' | 'NodeModifyIndex' | 'Index'>;
