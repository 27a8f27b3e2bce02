import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { nodeRead } from '../access/needs.js';
import { type Allocation, encodeAllocation, encodeNode } from '@waybill/model';
import { type Listed, ReadModel, rowsOfNode } from '@waybill/projection';
import { fullUuid, uuidPrefixParam } from '../http/query-string.js';
import { found, listed, neverZero } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { NodeList } from './node-list.js';

const READ_JOB = { kind: 'namespace', anyOf: ['read-job'] } as const;

/** Returns the allocations of a node in namespaces whose jobs the caller may read. */
async function readable({ access }: ApiRequest, read: Promise<Listed<Allocation>>): Promise<Listed<Allocation>> {
  const { rows, ...page } = await read;
  return { ...page, rows: rows.filter(({ Namespace }) => access.has(READ_JOB, { namespace: Namespace })) };
}

/** The controller of reads of `/v1/nodes` and `/v1/node/:id`. */
@Controller('v1')
export class NodesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly nodeList: NodeList,
  ) {}

  @Get('nodes')
  @Needs(nodeRead)
  list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.nodeList.answer(request, reply, { prefix: uuidPrefixParam(request.query) });
  }

  @Get('node/:id')
  @Needs(nodeRead)
  async readNode(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'node lookup failed');
    await this.reads.object(request, reply, {
      watched: [['nodes', id]],
      query: () => found(this.model.node(id), encodeNode),
      missing: 'node not found',
    });
  }

  /** Lists the allocations of a node; an unknown node and an invalid ID have none (API-41). */
  @Get('node/:id/allocations')
  @Needs(nodeRead)
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = given.toLowerCase();
    await this.reads.answer(request, reply, [['allocs', rowsOfNode(id)]], async () =>
      neverZero(
        await listed(readable(request, this.model.nodeAllocations(id)), (alloc) =>
          encodeAllocation(alloc, { withJob: true }),
        ),
      ),
    );
  }
}
