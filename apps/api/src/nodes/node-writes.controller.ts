import { Controller, Param, Post, Put, Req, Res } from '@nestjs/common';
import { type AskOptions, type Call, evaluateNode, NatsRpc, type OnBehalfOf, purgeNode, RpcError } from '@waybill/rpc';
import { AgentIdentity } from '../cluster/agent-identity.js';
import { ApiError, failed, notFound } from '../http/api-error.js';
import { isKnownPath } from '../http/known-paths.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { Writer } from '../writer.js';

/** What all answers of the nodes service to a user's command have. */
interface NodeCommandAnswer {
  readonly EvalIDs: readonly string[];
  readonly EvalCreateIndex: number;
  readonly NodeModifyIndex: number;
  readonly Index: number;
}

interface Named {
  readonly NodeID: string;
  readonly For: OnBehalfOf;
}

/** `/v1/node/:id/{drain,eligibility,evaluate,purge}` by PUT or POST (ND-14): passed on to the service of nodes. */
@Controller('v1/node')
export class NodeWritesController {
  constructor(
    private readonly rpc: NatsRpc,
    private readonly writer: Writer,
    private readonly identity: AgentIdentity,
  ) {}

  @Put(':id/:action')
  put(@Param('action') action: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(action, request, reply);
  }

  @Post(':id/:action')
  post(@Param('action') action: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(action, request, reply);
  }

  private async write(action: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const NodeID = (request.params['id'] ?? '').toLowerCase();
    switch (action) {
      case 'evaluate':
        return this.update(evaluateNode, { NodeID }, request, reply);
      case 'purge':
        return this.update(purgeNode, { NodeID }, request, reply);
      default:
        throw isKnownPath(request.url) ? new ApiError(405, 'Invalid method') : notFound('');
    }
  }

  /** The whole node update answer (section 2.5): what agents get, without what only agents need. */
  private async update<Req extends Named, Res extends NodeCommandAnswer>(
    call: Call<Req, Res>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    const answer = await this.ask(call, wanted, request);
    this.send(request, reply, {
      ...answer,
      HeartbeatTTL: 0,
      Features: 0,
      LeaderRPCAddr: this.identity.address,
      Servers: [{ RPCAdvertiseAddr: this.identity.address, RPCMajorVersion: 1, RPCMinorVersion: 1, Datacenter: 'dc1' }],
      SignedIdentity: null,
    });
  }

  /** Answers once what was written can be read. @throws ApiError as ND-19 says */
  private async ask<Req extends Named, Res extends NodeCommandAnswer>(
    call: Call<Req, Res>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
  ): Promise<Res> {
    const { actor, reason = '', requestId, traceparent } = Requester.of(request).draftContext(0);
    const For: OnBehalfOf = { Actor: actor, Reason: reason, RequestID: requestId };
    // `Omit` of a type parameter is not put together again by the compiler.
    const answer = await this.answered(call, { ...wanted, For } as Req, { traceparent });
    const written = Math.max(answer.Index, answer.EvalCreateIndex);
    if (written > 0) await this.writer.readable(written);
    return answer;
  }

  private async answered<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions): Promise<Res> {
    try {
      return await this.rpc.ask(call, request, options);
    } catch (error) {
      if (error instanceof RpcError && BUSINESS_RULES.has(error.code)) throw failed(error.message);
      throw error;
    }
  }

  private send(request: ApiRequest, reply: ApiReply, answer: NodeCommandAnswer): void {
    setWriteIndex(reply, answer.Index); // ND-18
    const EvalIDs = answer.EvalIDs.length > 0 ? answer.EvalIDs : null; // API-206
    sendJson(request, reply, { ...answer, EvalIDs, LastContact: 0, KnownLeader: true, NextToken: '' });
  }
}

/** ND-19: what breaks a rule is 500 with the rule's text, also an unknown node. */
const BUSINESS_RULES: ReadonlySet<RpcError['code']> = new Set(['invalid', 'not-found', 'conflict']);
