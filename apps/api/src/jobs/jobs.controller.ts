import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { byPart, inList, inQuery, open } from '../access/needs.js';
import { encodeAllocationStub, encodeDeployment, encodeEvaluation, encodeJob, encodeJobSummary } from '@waybill/model';
import { ReadModel, rowsOfJob } from '@waybill/projection';
import { namespacedKey, type TableName, versionKey } from '@waybill/state';
import { badRequest, invalidMethod, onlyWebSockets } from '../http/api-error.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { namespaceOf, param, type QueryString } from '../http/query-string.js';
import { found, listed, type ReadResult } from '../http/read-result.js';
import { type CachedList, Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { actionsOf } from './job-actions.js';
import { JobList } from './job-list.js';
import { JobStatuses } from './job-statuses.js';
import { jobPathOf, jobSubRoute } from './job-path.js';
import { tagPathOf } from './job-version-tags.js';
import { scaleStatusIndex, scaleStatusOf } from './scale-status.js';
import { versionDiffs } from './version-diffs.js';

/** The parts of a job need the same right as the job. `scale` also accepts callers who may only scale. */
const JOB_READS = byPart(
  ({ url }) => jobSubRoute(url),
  { scale: inQuery('read-job', 'read-job-scaling'), action: open },
  inQuery('read-job'),
);

/** The controller of reads of `/v1/jobs` and `/v1/job/…`. */
@Controller('v1')
export class JobsController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly jobList: JobList,
    private readonly statuses: JobStatuses,
  ) {}

  @Get('jobs')
  @Needs(inList('list-jobs'))
  list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.jobList.answer(request, reply, { prefix: param(request.query, 'prefix') });
  }

  @Get('jobs/statuses')
  @Needs(inList('read-job'))
  allStatuses(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.statuses.answer(request, reply);
  }

  @Post('jobs/statuses')
  @Needs(inList('read-job'))
  namedStatuses(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.statuses.answer(request, reply);
  }

  @Get('job/*')
  @Needs(JOB_READS)
  async readJob(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { id, sub } = jobPathOf(request.url);
    const namespace = namespaceOf(request.query);
    const key = namespacedKey(namespace, id);
    const ofJob = rowsOfJob(namespace, id);
    switch (sub) {
      case undefined:
        return this.reads.object(request, reply, {
          watched: [['jobs', key]],
          query: () => found(this.model.job(namespace, id), encodeJob),
          missing: 'job not found',
        });
      case 'summary':
        return this.reads.object(request, reply, {
          watched: [['job_summary', key]],
          query: () => found(this.model.jobSummary(namespace, id), encodeJobSummary),
          missing: 'job not found',
        });
      case 'allocations': {
        const all = param(request.query, 'all') === 'true';
        return this.reads.list(request, reply, allocationsOf(namespace, id), () =>
          listed(this.model.jobAllocations(namespace, id, { all }), (alloc) => encodeAllocationStub(alloc)),
        );
      }
      case 'evaluations':
        return this.reads.list(request, reply, partsOf('evals', namespace, id), () =>
          listed(this.model.jobEvaluations(namespace, id), encodeEvaluation),
        );
      case 'deployments':
        return this.reads.list(request, reply, partsOf('deployment', namespace, id), () =>
          listed(this.model.jobDeployments(namespace, id), encodeDeployment),
        );
      case 'deployment':
        return this.reads.list(request, reply, partsOf('deployment', namespace, id), async () => {
          const { index, row } = await this.model.jobDeployment(namespace, id);
          return { index, value: row ? encodeDeployment(row) : null };
        });
      case 'versions':
        return this.reads.object(request, reply, {
          watched: [['job_version', ofJob]],
          query: async () => {
            const { index, rows } = await this.model.jobVersions(namespace, id);
            const Diffs = versionDiffs(rows, request.query);
            const meta = { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' };
            return { index, value: rows.length > 0 ? { Versions: rows.map(encodeJob), Diffs, ...meta } : undefined };
          },
          missing: 'job versions not found',
        });
      case 'scale':
        return this.reads.answerObject(
          request,
          reply,
          [
            ['jobs', key],
            ['allocs', ofJob],
            ['scaling_event', key],
          ],
          { query: () => this.scaleStatus(namespace, id), missing: 'job not found' },
        );
      case 'submission': {
        const version = versionParam(request.query);
        return this.reads.answerObject(request, reply, [['job_submission', versionKey(namespace, id, version)]], {
          query: () => found(this.model.jobSubmission(namespace, id, version)),
          missing: 'job source not found',
        });
      }
      case 'services': {
        const options = { namespaces: [namespace], jobId: id, ...pageOf(request.query) };
        const filter = ListFilter.of(request.query);
        return this.reads.answerObject(
          request,
          reply,
          [
            ['jobs', key],
            ['service_registrations', ofJob],
          ],
          {
            query: async () => {
              const { index: jobIndex, row: job } = await this.model.job(namespace, id);
              if (!job) return { index: jobIndex, value: undefined };
              const { index, rows, nextToken } = await this.model.services({ ...options, keep: filter?.keep() });
              return { index, nextToken, value: rows };
            },
            missing: 'job not found',
          },
        );
      }
      case 'actions':
        return this.reads.answerObject(request, reply, [['jobs', key]], {
          query: () => found(this.model.job(namespace, id), actionsOf),
          missing: 'job not found',
        });
      case 'action':
        throw onlyWebSockets();
      case 'tag':
        tagPathOf(id); // an invalid path is reported before the method (API-7)
        throw invalidMethod();
      default:
        throw invalidMethod();
    }
  }

  private async scaleStatus(namespace: string, id: string): Promise<ReadResult> {
    const { index, row: job } = await this.model.job(namespace, id);
    if (!job) return { index, value: undefined };
    const { rows: allocs } = await this.model.jobAllocations(namespace, id, { all: true });
    const { row: events } = await this.model.scaling.events(namespace, id);
    return { index: scaleStatusIndex(job, allocs, events), value: scaleStatusOf(job, allocs, events) };
  }
}

/** Returns the rows of one table for one job. The caller must be allowed to see the namespace. */
const partsOf = (table: TableName, namespace: string, id: string): CachedList => ({
  tables: [table],
  watched: [[table, rowsOfJob(namespace, id)]],
  scope: [namespace],
});

/**
 * Returns the allocations of a job together with the job: a job that was purged and registered anew hides the
 * allocations of the earlier one.
 */
const allocationsOf = (namespace: string, id: string): CachedList => ({
  tables: ['allocs'],
  watched: [
    ['allocs', rowsOfJob(namespace, id)],
    ['jobs', namespacedKey(namespace, id)],
  ],
  scope: [namespace],
});

/** @throws Refusal invalid */
function versionParam(query: QueryString): number {
  const text = param(query, 'version') ?? '';
  if (!/^\d{1,15}$/.test(text)) throw badRequest('Unable to parse job submission version parameter');
  return Number(text);
}
