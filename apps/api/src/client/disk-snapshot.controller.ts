import { Readable } from 'node:stream';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { ofObject, onNode } from '../access/needs.js';
import { type Allocation, findTaskGroup, isRefusal } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { NatsRpc, type UserRpc } from '@waybill/rpc';
import { goneSignal } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { type DiskFiles, tarOfDisk } from './disk-tar.js';
import { listAllocFiles } from './file-list.js';
import { readAllocFile } from './file-stream.js';
import { knownAllocation } from './known-allocation.js';
import { callsFor } from '../access/call-user.js';

/**
 * The controller of `GET /v1/client/allocation/:id/snapshot`, which returns the files that an allocation would pass on
 * to its replacement, as a tar.
 */
@Controller('v1/client/allocation/:id/snapshot')
export class DiskSnapshotController {
  constructor(
    private readonly model: ReadModel,
    private readonly rpc: NatsRpc,
  ) {}

  @Get()
  @Needs(onNode(ofObject('read-fs')))
  async snapshot(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const alloc = await knownAllocation(this.model, id, request.access);
    const calls = callsFor(request, this.rpc);
    await listAllocFiles(calls, alloc, '/'); // who cannot be asked, or has it no more, is said by the status
    const gone = goneSignal(reply);
    const disk: DiskFiles = {
      list: (path) => listAllocFiles(calls, alloc, `/${path}`).catch(ignoreMissing),
      read: (path, limit) => bytesOf(calls, alloc, { path, limit }, gone),
    };
    const tasks = (alloc.Job && findTaskGroup(alloc.Job, alloc.TaskGroup)?.Tasks) ?? [];
    const roots = ['alloc/data', ...tasks.map(({ Name }) => `${Name}/local`)];
    reply
      .code(200)
      .header('Content-Type', 'application/x-tar')
      .send(Readable.from(tarOfDisk(alloc.ID, roots, disk)));
  }
}

async function* bytesOf(
  calls: UserRpc,
  { ID: allocId, NodeID: nodeId }: Allocation,
  { path, limit }: { readonly path: string; readonly limit: number },
  gone: AbortSignal,
): AsyncGenerator<Buffer> {
  const from = { nodeId, allocId, path: `/${path}`, origin: 'start', offset: 0, limit, follow: false } as const;
  for await (const piece of readAllocFile(calls, from, gone)) if (piece) yield piece.data;
}

function ignoreMissing(error: unknown): undefined {
  if (isRefusal(error, 'not-found')) return undefined;
  throw error;
}
