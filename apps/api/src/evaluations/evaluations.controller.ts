import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { encodeAllocationStub, encodeEvaluation } from '@waybill/model';
import { ReadModel, rowsOfEval } from '@waybill/projection';
import { namespacesOf, pageOf } from '../http/list-params.js';
import { fullUuid, param, uuidPrefixParam } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** `/v1/evaluations`, `/v1/evaluation/:id`. */
@Controller('v1')
export class EvaluationsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  @Get('evaluations')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: namespacesOf(query),
      prefix: uuidPrefixParam(query),
      jobId: param(query, 'job') || undefined,
      status: param(query, 'status') || undefined,
      ...pageOf(query),
    };
    await this.reads.answer(request, reply, [['evals', '*']], async () => {
      const { index, rows, nextToken } = await this.model.evaluations(options);
      return { index, nextToken, value: rows.map(encodeEvaluation) };
    });
  }

  @Get('evaluation/:id')
  async read(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'failed to lookup eval');
    await this.reads.answer(
      request,
      reply,
      [['evals', id]],
      async () => {
        const { index, row } = await this.model.evaluation(id);
        return { index, value: row && encodeEvaluation(row) };
      },
      'eval not found',
    );
  }

  @Get('evaluation/:id/allocations')
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.reads.answer(request, reply, [['allocs', rowsOfEval(given.toLowerCase())]], async () => {
      const { index, rows } = await this.model.evalAllocations(given.toLowerCase());
      return { index, value: rows.map((alloc) => encodeAllocationStub(alloc)) };
    });
  }
}
