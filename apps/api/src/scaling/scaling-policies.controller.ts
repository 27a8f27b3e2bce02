import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { ScalingPolicy } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { found, listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** `/v1/scaling/policies`, `/v1/scaling/policy/:id`. */
@Controller('v1/scaling')
export class ScalingPoliciesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('policies')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: namespacesOf(query),
      prefix: param(query, 'prefix'),
      jobId: param(query, 'job') || undefined,
      type: param(query, 'type'),
      ...pageOf(query),
    };
    await this.reads.answer(request, reply, [['scaling_policy', '*']], () =>
      listed(this.model.scaling.policies(options), stubOf),
    );
  }

  @Get('policy/:id')
  async read(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const query = () => found(this.model.scaling.policy(id));
    await this.reads.answer(request, reply, [['scaling_policy', id]], query, 'policy not found');
  }
}

/** A policy as lists show it: what it is for, not what it says. */
const stubOf = ({ ID, Enabled, Type, Target, CreateIndex, ModifyIndex }: ScalingPolicy) => ({
  ID,
  Enabled,
  Type,
  Target,
  CreateIndex,
  ModifyIndex,
});
