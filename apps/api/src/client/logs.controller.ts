import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { findTaskGroup } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { NatsRpc, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { ApiError, badRequest, notFound } from '../http/api-error.js';
import { param, type QueryString } from '../http/query-string.js';
import { goneSignal } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { type LogPiece, type LogStreamRequest, readTaskLog } from './log-stream.js';

/** `/v1/client/fs/logs/:alloc`: a task's log, from the agent that runs it (API-194, API-197, API-198). */
@Controller('v1/client/fs')
export class LogsController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
  ) {}

  @Get('logs/:id')
  async logs(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const plain = flag(query, 'plain');
    const wanted = await this.wanted(id.toLowerCase(), query);
    const gone = goneSignal(reply);
    const pieces = readTaskLog(this.rpc, wanted, gone);
    // The first answer decides about the status; after it there is only the end of the body.
    const first = await pieces.next().catch((error: unknown) => Promise.reject(asApiError(error, wanted)));
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      'Content-Type': plain ? 'text/plain; charset=utf-8' : 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'Access-Control-Allow-Origin': '*',
    });
    raw.flushHeaders();
    for (let step = first; !step.done && !gone.aborted; step = await pieces.next().catch(() => END)) {
      const chunk = plain ? (step.value?.data ?? '') : frameOf(step.value);
      if (!raw.write(chunk) && !gone.aborted) await drained(raw, gone);
    }
    raw.end();
  }

  private async wanted(id: string, query: QueryString): Promise<LogStreamRequest> {
    const task = param(query, 'task');
    if (!task) throw badRequest('must provide task name');
    const type = param(query, 'type');
    if (type !== 'stdout' && type !== 'stderr') throw badRequest('must provide log type (stdout/stderr)');
    const origin = param(query, 'origin') || 'start';
    if (origin !== 'start' && origin !== 'end') throw badRequest('origin must be start or end');
    const offset = param(query, 'offset') || '0';
    if (!/^\d{1,15}$/.test(offset)) throw badRequest(`error parsing offset: ${offset}`);
    const { row } = await this.model.allocation(id);
    if (!row) throw notFound(`Unknown allocation "${id}"`);
    const group = row.Job ? findTaskGroup(row.Job, row.TaskGroup) : undefined;
    if (group && !group.Tasks.some((t) => t.Name === task)) throw badRequest(`unknown task name "${task}"`);
    return {
      nodeId: row.NodeID,
      allocId: id,
      task,
      type,
      origin,
      offset: Number(offset),
      follow: flag(query, 'follow'),
    };
  }
}

const END = { done: true, value: undefined } as const;

function flag(query: QueryString, name: string): boolean {
  const value = param(query, name);
  if (value === undefined || value === '') return false;
  if (/^(1|t|T|TRUE|true|True)$/.test(value)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(value)) return false;
  throw badRequest(`failed to parse ${name} field to boolean: ${value}`);
}

/** One JSON object, no separator needed; `{}` is a heartbeat (API-78). */
function frameOf(piece: LogPiece): string {
  if (!piece) return '{}';
  return JSON.stringify({ Offset: piece.offset, Data: piece.data.toString('base64'), File: piece.file });
}

function asApiError(error: unknown, wanted: LogStreamRequest): unknown {
  if (error instanceof RpcUnavailableError) return notFound(`No path to node: ${wanted.nodeId} does not answer`);
  if (error instanceof RpcError && error.code === 'not-found') return new ApiError(404, error.message);
  return error;
}

function drained(raw: ApiReply['raw'], gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    raw.once('drain', resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
