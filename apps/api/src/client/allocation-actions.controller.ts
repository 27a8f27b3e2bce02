import { Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { ofObject, onNode, open } from '../access/needs.js';
import { encodeCheckStatus, errorText } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { allocChecks, allocStats, collectAllocs, NatsRpc, restartAlloc, signalAlloc } from '@waybill/rpc';
import { badRequest, onlyWebSockets } from '../http/api-error.js';
import { readJsonBody, readOptionalJsonBody } from '../http/body.js';
import { asObject, boolOf, type JsonObject, stringOf } from '../http/json-members.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { askAgent, restartTimeoutMs } from './agent-call.js';
import { knownAllocation } from './known-allocation.js';
import { callsFor } from '../access/call-user.js';

/**
 * The controller of `/v1/client/allocation/:alloc/…`: requests about a running allocation, which its agent answers
 * (API-194 to API-196).
 */
@Controller('v1')
export class AllocationActionsController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
  ) {}

  @Get('client/allocation/:id/stats')
  @Needs(onNode(ofObject('read-job')))
  async stats(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { ID, NodeID } = await knownAllocation(this.model, id, request.access);
    const wanted = { AllocID: ID, Task: param(request.query, 'task') ?? '' };
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), allocStats, wanted, { target: NodeID }));
  }

  /** Returns the latest results of the allocation's checks, on two paths (AG-146). */
  @Get(['client/allocation/:id/checks', 'allocation/:id/checks'])
  @Needs(onNode(ofObject('read-job')))
  async checks(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { ID, NodeID } = await knownAllocation(this.model, id, request.access);
    const checks = await askAgent(callsFor(request, this.rpc), allocChecks, { AllocID: ID }, { target: NodeID });
    const shown = Object.entries(checks).map(([checkId, status]) => [checkId, encodeCheckStatus(status)]);
    sendJson(request, reply, Object.fromEntries(shown));
  }

  /** Refuses plain requests: `exec.transport.ts` handles the WebSocket handshake before requests get here (API-80). */
  @Get('client/allocation/:id/exec')
  @Needs(open)
  exec(): never {
    throw onlyWebSockets();
  }

  @Put('client/allocation/:id/restart')
  @Needs(onNode(ofObject('alloc-lifecycle')))
  restartPut(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restart(id, request, reply);
  }

  @Post('client/allocation/:id/restart')
  @Needs(onNode(ofObject('alloc-lifecycle')))
  restartPost(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restart(id, request, reply);
  }

  @Put('client/allocation/:id/signal')
  @Needs(onNode(ofObject('alloc-lifecycle')))
  signalPut(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.signal(id, request, reply);
  }

  @Post('client/allocation/:id/signal')
  @Needs(onNode(ofObject('alloc-lifecycle')))
  signalPost(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.signal(id, request, reply);
  }

  @Get('client/allocation/:id/gc')
  @Needs(onNode(ofObject('submit-job', 'gc-allocation')))
  gcGet(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(id, request, reply);
  }

  @Put('client/allocation/:id/gc')
  @Needs(onNode(ofObject('submit-job', 'gc-allocation')))
  gcPut(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(id, request, reply);
  }

  @Post('client/allocation/:id/gc')
  @Needs(onNode(ofObject('submit-job', 'gc-allocation')))
  gcPost(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.collect(id, request, reply);
  }

  /** Collects one ended allocation; the agent refuses any other (AG-213). */
  private async collect(id: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const { ID, NodeID } = await knownAllocation(this.model, id, request.access);
    sendJson(
      request,
      reply,
      await askAgent(callsFor(request, this.rpc), collectAllocs, { AllocID: ID }, { target: NodeID }),
    );
  }

  /** Restarts one task, the running tasks or all tasks of an allocation (API-195). */
  private async restart(id: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = withDecodeErrors(() => {
      const given = readOptionalJsonBody(request.body);
      const object: JsonObject = given === undefined || given === null ? {} : asObject(given, 'AllocRestartRequest');
      return { TaskName: stringOf(object, 'TaskName'), AllTasks: boolOf(object, 'AllTasks') };
    });
    const alloc = await knownAllocation(this.model, id, request.access);
    await askAgent(
      callsFor(request, this.rpc),
      restartAlloc,
      { AllocID: alloc.ID, ...body },
      { target: alloc.NodeID, timeoutMs: restartTimeoutMs(alloc) },
    );
    sendJson(request, reply, { Index: 0 });
  }

  /** Sends a signal to one task or to all tasks of an allocation (API-196). */
  private async signal(id: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    const body = withDecodeErrors(() => {
      const object = asObject(readJsonBody(request.body), 'AllocSignalRequest');
      return { Task: stringOf(object, 'Task'), Signal: stringOf(object, 'Signal') };
    });
    const alloc = await knownAllocation(this.model, id, request.access);
    await askAgent(callsFor(request, this.rpc), signalAlloc, { AllocID: alloc.ID, ...body }, { target: alloc.NodeID });
    sendJson(request, reply, { Index: 0 });
  }
}

function withDecodeErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw badRequest(`Failed to decode body: ${errorText(error)}`);
  }
}
