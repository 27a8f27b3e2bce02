import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ALL_NODES_POOL } from '@waybill/model';
import { Needs } from '../access/needs.decorator.js';
import { inList, ofPool } from '../access/needs.js';
import { badRequest } from '../http/api-error.js';
import { param } from '../http/query-string.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { JobList } from '../jobs/job-list.js';
import { NodeList } from './node-list.js';

/**
 * The controller of `/v1/node/pool/:name/nodes` and `/v1/node/pool/:name/jobs`: the nodes and the jobs of one pool
 * (nodes.md section 13).
 */
@Controller('v1/node/pool/:name')
export class NodePoolMembersController {
  constructor(
    private readonly nodeList: NodeList,
    private readonly jobList: JobList,
  ) {}

  @Get('nodes')
  @Needs(ofPool('read'))
  nodes(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must({ kind: 'node', level: 'read' });
    withoutPrefix(request);
    return this.nodeList.answer(request, reply, { pool: name === ALL_NODES_POOL ? undefined : name });
  }

  @Get('jobs')
  @Needs(inList('list-jobs'))
  jobs(@Param('name') name: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    request.access.must({ kind: 'nodePool', capability: 'read' }, { pool: name });
    withoutPrefix(request);
    return this.jobList.answer(request, reply, { pool: name });
  }
}

/** Refuses a prefix in the lists of one pool (ND-187). */
function withoutPrefix({ query }: ApiRequest): void {
  if (param(query, 'prefix')) throw badRequest('prefix argument not allowed');
}
