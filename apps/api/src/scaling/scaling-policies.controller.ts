import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inList, type Need } from '../access/needs.js';
import type { ScalingPolicy } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { param } from '../http/query-string.js';
import { listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** Callers who may list and read jobs see their policies in them, so they may read policies. */
const READ_POLICY: Need = {
  requirement: {
    kind: 'anyOf',
    of: [
      { kind: 'namespace', anyOf: ['read-scaling-policy'] },
      {
        kind: 'allOf',
        of: [
          { kind: 'namespace', anyOf: ['list-jobs'] },
          { kind: 'namespace', anyOf: ['read-job'] },
        ],
      },
    ],
  },
  at: 'object',
};

/** The controller of `/v1/scaling/policies` and `/v1/scaling/policy/:id`. */
@Controller('v1/scaling')
export class ScalingPoliciesController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('policies')
  @Needs(inList('list-scaling-policies'))
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: await allowedNamespacesOf(request),
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
  @Needs(READ_POLICY)
  async readScalingPolicy(@Param('id') id: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const query = async () => {
      const { index, row } = await this.model.scaling.policy(id);
      const isShown = request.access.visible(row && { Namespace: row.Target?.['Namespace'] ?? '' });
      return { index, value: isShown && row };
    };
    await this.reads.answerObject(request, reply, [['scaling_policy', id]], { query, missing: 'policy not found' });
  }
}

/** Returns a policy in its form for lists: its target without its contents. */
const stubOf = ({ ID, Enabled, Type, Target, CreateIndex, ModifyIndex }: ScalingPolicy) => ({
  ID,
  Enabled,
  Type,
  Target,
  CreateIndex,
  ModifyIndex,
});
