import { Controller, Delete, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { inList, management, ofObject } from '../access/needs.js';
import { encodeAllocationStub, encodeEvaluation, type Evaluation } from '@waybill/model';
import { ReadModel, rowsOfEval } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { fullUuid, param, uuidPrefixParam } from '../http/query-string.js';
import { foundInNamespace, listed, listedVisible } from '../http/read-result.js';
import { goneSignal, Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { namespacesOfWrite } from '../http/write-options.js';
import { DeleteEvaluations, readDeleteRequest } from './delete-evaluations.js';
import { EvalTimers } from './eval-timers.js';
import { relatedEvaluations } from './related-evaluations.js';

const NOT_FOUND = 'eval not found';

/** The controller of `/v1/evaluations` and `/v1/evaluation/:id`. */
@Controller('v1')
export class EvaluationsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly deleteEvaluations: DeleteEvaluations,
    private readonly timers: EvalTimers,
  ) {}

  @Get('evaluations')
  @Needs(inList('read-job'))
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const options = {
      namespaces: await allowedNamespacesOf(request),
      prefix: uuidPrefixParam(query),
      jobId: param(query, 'job') || undefined,
      status: param(query, 'status') || undefined,
      ...pageOf(query),
    };
    if (param(query, 'filter') && (options.jobId !== undefined || options.status !== undefined))
      throw badRequest('Filter expression cannot be used with other filter parameters'); // the text is that of API-72
    const filter = ListFilter.of(query);
    await this.timers.timed('list', () =>
      this.reads.list(request, reply, { tables: ['evals'], scope: options.namespaces }, () =>
        listed(this.model.evaluations({ ...options, keep: filter?.keep() }), encodeEvaluation),
      ),
    );
  }

  /** Counts evaluations (EB-298). Cost: reads all evaluations of the namespaces, and keeps none of them in memory. */
  @Get('evaluations/count')
  @Needs(inList('read-job'))
  async count(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { query } = request;
    const namespaces = await allowedNamespacesOf(request);
    const options = { namespaces, prefix: uuidPrefixParam(query), perPage: 1 };
    const filter = ListFilter.of(query);
    await this.timers.timed('count', () =>
      this.reads.answer(request, reply, [['evals', '*']], async () => {
        const matches = filter?.certainCondition<Evaluation>() ?? (() => true);
        let Count = 0;
        const countMatch = (row: Evaluation): boolean => {
          if (matches(row)) Count++;
          return false;
        };
        const { index } = await this.model.evaluations({ ...options, keep: countMatch });
        return { index, value: { Count, Index: index, LastContact: 0, KnownLeader: true, NextToken: '' } };
      }),
    );
  }

  @Delete('evaluations')
  @Needs(management)
  async delete(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const body = readJsonBody(request.body);
    const wanted = readDeleteRequest(body);
    const namespaces = namespacesOfWrite(request.query, body);
    const answer = await this.timers.timed('delete', () =>
      this.deleteEvaluations.delete(wanted, namespaces, () => Requester.of(request), goneSignal(reply)),
    );
    setWriteIndex(reply, Math.max(1, answer.Index));
    sendJson(request, reply, answer);
  }

  @Get('evaluation/:id')
  @Needs(ofObject('read-job'))
  async readEvaluation(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'failed to lookup eval: eval lookup failed');
    const related = param(request.query, 'related') === 'true';
    await this.timers.timed('get_eval', () =>
      related ? this.sendWithRelated(id, request, reply) : this.sendEvaluation(id, request, reply),
    );
  }

  private sendEvaluation(id: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    return this.reads.object(request, reply, {
      watched: [['evals', id]],
      query: () => foundInNamespace(this.model.evaluation(id), encodeEvaluation),
      missing: NOT_FOUND,
      shownTo: request.access,
    });
  }

  /**
   * Reads an evaluation with its related ones. The response is not cached, because the related ones change without a
   * change of this one.
   */
  private sendWithRelated(id: string, request: ApiRequest, reply: ApiReply): Promise<void> {
    return this.reads.answerObject(request, reply, [['evals', id]], {
      query: async () => {
        const { index, row: stored } = await this.model.evaluation(id);
        const row = request.access.visible(stored);
        if (!row) return { index, value: undefined };
        return {
          index,
          value: encodeEvaluation({ ...row, RelatedEvals: await relatedEvaluations(this.model, row) }),
        };
      },
      missing: NOT_FOUND,
    });
  }

  @Get('evaluation/:id/allocations')
  @Needs(ofObject('read-job'))
  async allocations(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    await this.timers.timed('allocations', () =>
      this.reads.answer(request, reply, [['allocs', rowsOfEval(given.toLowerCase())]], () =>
        listedVisible(request.access, this.model.evalAllocations(given.toLowerCase()), (alloc) =>
          encodeAllocationStub(alloc),
        ),
      ),
    );
  }
}
