import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { CallerWatches } from '../access/caller-watch.js';
import { Needs } from '../access/needs.decorator.js';
import { ofObject, onNode, open } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import { NatsRpc, statFile } from '@waybill/rpc';
import { badRequest, notFound } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { askAgent } from './agent-call.js';
import { bytesParam, flagParam, originParam } from './file-params.js';
import { listAllocFiles } from './file-list.js';
import { type FileRange, readAllocFile } from './file-stream.js';
import { sendPieces } from './frames.js';
import { knownAllocation } from './known-allocation.js';
import { callsFor } from '../access/call-user.js';

/** WantedFile is a part of a file of the allocation `id`. */
interface WantedFile extends Omit<FileRange, 'nodeId' | 'allocId'> {
  readonly id: string;
  /** Is true for the bytes alone, and false for frames that name the file and the offset. */
  readonly plain: boolean;
}

/**
 * The controller of `/v1/client/fs/…`: the files of an allocation, from the agent that has them (API-194, API-197).
 * Logs have their own controller. The routes are wildcards, because the router matches a part only if it is not empty,
 * and a request without an allocation has an answer of its own.
 */
@Controller('v1/client/fs')
export class FilesController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
    private readonly watches: CallerWatches,
  ) {}

  @Get('ls/*')
  @Needs(onNode(ofObject('read-fs')))
  async list(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const alloc = await knownAllocation(this.model, id, request.access);
    sendJson(
      request,
      reply,
      await listAllocFiles(callsFor(request, this.rpc), alloc, param(request.query, 'path') || '/'),
    );
  }

  @Get('stat/*')
  @Needs(onNode(ofObject('read-fs')))
  async stat(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { ID: AllocID, NodeID: target } = await knownAllocation(this.model, id, request.access);
    const wanted = { AllocID, Path: pathOf(request) };
    sendJson(request, reply, await askAgent(callsFor(request, this.rpc), statFile, wanted, { target }));
  }

  @Get('cat/*')
  @Needs(onNode(ofObject('read-fs')))
  async cat(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const path = pathOf(request);
    const whole = { path, origin: 'start', offset: 0, limit: Infinity, follow: false } as const;
    await this.send(request, reply, { id, ...whole, plain: true });
  }

  @Get('readat/*')
  @Needs(onNode(ofObject('read-fs')))
  async readAt(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const path = pathOf(request);
    const offset = bytesParam(request.query, 'offset', undefined);
    const limit = bytesParam(request.query, 'limit', 0);
    if (offset < 0) throw badRequest(`error parsing offset: ${offset}`);
    const part = { path, origin: 'start', offset, limit: limit > 0 ? limit : Infinity, follow: false } as const;
    await this.send(request, reply, { id, ...part, plain: true });
  }

  @Get('stream/*')
  @Needs(onNode(ofObject('read-fs')))
  async stream(@Param('*') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const path = pathOf(request);
    const offset = Math.max(0, bytesParam(query, 'offset', 0));
    const origin = originParam(query);
    const follow = flagParam(query, 'follow', true);
    await this.send(request, reply, { id, path, origin, offset, limit: Infinity, follow, plain: false });
  }

  @Get('*')
  @Needs(open)
  nothingElse(): never {
    throw notFound('Invalid method');
  }

  private async send(request: ApiRequest, reply: ApiReply, { id, plain, ...range }: WantedFile): Promise<void> {
    const { ID: allocId, NodeID: nodeId } = await knownAllocation(this.model, id, request.access);
    await this.watches.respond(request, reply, (until) => {
      const pieces = readAllocFile(callsFor(request, this.rpc), { ...range, nodeId, allocId }, until);
      return sendPieces(reply, pieces, until, plain);
    });
  }
}

function pathOf({ query }: ApiRequest): string {
  const path = param(query, 'path');
  if (!path) throw badRequest('must provide a file name');
  return path;
}
