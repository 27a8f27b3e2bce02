import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { CallerWatches } from '../access/caller-watch.js';
import { Needs } from '../access/needs.decorator.js';
import { ofObject, onNode } from '../access/needs.js';
import { findTaskGroup } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { NatsRpc } from '@waybill/rpc';
import { badRequest } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { bytesParam, flagParam, originParam } from './file-params.js';
import { sendPieces } from './frames.js';
import { knownAllocation } from './known-allocation.js';
import { type LogStreamRequest, readTaskLog } from './log-stream.js';
import { callsFor } from '../access/call-user.js';

/**
 * The controller of `/v1/client/fs/logs/:alloc`: a task's log, from the agent that runs the task (API-194, API-197,
 * API-198).
 */
@Controller('v1/client/fs')
export class LogsController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
    private readonly watches: CallerWatches,
  ) {}

  @Get('logs/*')
  @Needs(onNode(ofObject('read-logs', 'read-fs')))
  async logs(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const plain = flagParam(query, 'plain', false);
    const wanted = await this.streamRequest(id.toLowerCase(), request);
    await this.watches.respond(request, reply, (until) =>
      sendPieces(reply, readTaskLog(callsFor(request, this.rpc), wanted, until), until, plain),
    );
  }

  private async streamRequest(id: string, { access, query }: ApiRequest): Promise<LogStreamRequest> {
    const task = param(query, 'task');
    if (!task) throw badRequest('must provide task name');
    const type = param(query, 'type');
    if (type !== 'stdout' && type !== 'stderr') throw badRequest('must provide log type (stdout/stderr)');
    const origin = originParam(query);
    const offset = bytesParam(query, 'offset', 0);
    if (offset < 0) throw badRequest(`error parsing offset: ${offset}`);
    const { NodeID, Job, TaskGroup } = await knownAllocation(this.model, id, access);
    const group = Job ? findTaskGroup(Job, TaskGroup) : undefined;
    if (group && !group.Tasks.some((t) => t.Name === task)) throw badRequest(`unknown task name "${task}"`);
    return {
      nodeId: NodeID,
      allocId: id,
      task,
      type,
      origin,
      offset,
      follow: flagParam(query, 'follow', false),
    };
  }
}
