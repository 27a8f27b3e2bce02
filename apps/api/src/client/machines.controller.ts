import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { nodeRead, nodeWrite, onNode } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import {
  applyNodeMeta,
  collectAllocs,
  hostStats,
  NatsRpc,
  readNodeIdentity,
  readNodeMeta,
  renewNodeIdentity,
} from '@waybill/rpc';
import { NeighbouringAgent } from '../cluster/neighbouring-agent.store.js';
import { badRequest, notFound } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendEmpty, sendJson } from '../http/reply.js';
import { askAgent } from './agent-call.js';
import { readRenewal } from './node-identity-request.js';
import { readMetaChanges } from './node-meta-request.js';
import { callsFor } from '../access/call-user.js';

/**
 * The controller of `/v1/client/stats`, `/v1/client/gc`, `/v1/client/metadata` and `/v1/client/identity`: requests about
 * a machine, which its agent answers.
 */
@Controller('v1/client')
export class MachinesController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
    private readonly agent: NeighbouringAgent,
  ) {}

  @Get('stats')
  @Needs(onNode(nodeRead))
  async stats(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), hostStats, {}, { target }));
  }

  @Get('gc')
  @Needs(onNode(nodeWrite))
  gcGet(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  @Put('gc')
  @Needs(onNode(nodeWrite))
  gcPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  @Post('gc')
  @Needs(onNode(nodeWrite))
  gcPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(request, reply);
  }

  /**
   * Collects every ended allocation of a node (AG-213). The body is empty, because official clients refuse the `null`
   * of the contract's table.
   */
  private async collect(request: ApiRequest, reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    await askAgent(callsFor(request, this.rpc), collectAllocs, { AllocID: '' }, { target });
    sendEmpty(reply);
  }

  /** Returns the metadata of a node: the static and the dynamic part, and both merged (AG-27). */
  @Get('metadata')
  @Needs(onNode(nodeRead))
  async metadata(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), readNodeMeta, {}, { target }));
  }

  @Post('metadata')
  @Needs(onNode(nodeWrite))
  metadataPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.applyMeta(request, reply);
  }

  @Put('metadata')
  @Needs(onNode(nodeWrite))
  metadataPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.applyMeta(request, reply);
  }

  /** Changes dynamic metadata (AG-332). The body may name the node as well as the query. */
  private async applyMeta(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { NodeID, Meta } = readMetaChanges(request.body);
    const target = await this.nodeOf(request, NodeID);
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), applyNodeMeta, { Meta }, { target }));
  }

  /** Returns the claims of the signed identity that a machine holds, and never the token (AU-199). */
  @Get('identity')
  @Needs(onNode(nodeRead))
  async identity(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request);
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), readNodeIdentity, {}, { target }));
  }

  @Post('identity/renew')
  @Needs(onNode(nodeWrite))
  renewPost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.renewIdentity(request, reply);
  }

  @Put('identity/renew')
  @Needs(onNode(nodeWrite))
  renewPut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.renewIdentity(request, reply);
  }

  /** Makes a machine ask for a new identity with its next heartbeat. The body may name the node as well as the query. */
  private async renewIdentity(request: ApiRequest, reply: ApiReply): Promise<void> {
    const target = await this.nodeOf(request, readRenewal(request.body));
    await askAgent(callsFor(request, this.rpc), renewNodeIdentity, {}, { target });
    sendJson(request, reply, {});
  }

  /** Returns the named node, or else the node of the agent beside this process. @throws Refusal */
  private async nodeOf(request: ApiRequest, otherwise = ''): Promise<string> {
    const named = param(request.query, 'node_id') || otherwise;
    const nodeId = named ? named.toLowerCase() : await this.agent.nodeId();
    if (nodeId === undefined) throw badRequest('No local Node and node_id not provided'); // the text is that of API-199
    const { row } = await this.model.node(nodeId);
    if (!row) throw notFound(`Unknown node ${nodeId}`);
    return row.ID;
  }
}
