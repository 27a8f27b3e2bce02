import type { JobStatusOptions, JobWithStatus, ReadModel } from '@waybill/projection';
import { badRequest } from '../http/api-error.js';
import { readOptionalJsonBody } from '../http/body.js';
import { asObject, boolOf, type JsonObject, memberOf, stringOf } from '../http/json-members.js';
import { ListFilter } from '../http/list-filter.js';
import { pageOf } from '../http/list-params.js';
import { boolParam, type QueryString } from '../http/query-string.js';
import type { ReadResult } from '../http/read-result.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { namespacesOfWrite } from '../http/write-options.js';
import { jobStatusIndex, jobStatusRow } from './job-status-row.js';

/** The largest number of jobs that one request may name. */
export const MAX_NAMED_JOBS = 10_000;

type Named = NonNullable<JobStatusOptions['named']>;

/** JobStatuses shows how jobs are, for the overview of a web UI: all jobs, or those that the UI shows now (API-185). */
export class JobStatuses {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  async answer(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { query } = request;
    const body = readOptionalJsonBody(request.body);
    const { named, includeChildren } = readStatusesRequest(body, query);
    const namespaces = namespacesOfWrite(query, body);
    const options = {
      // Named jobs have their own namespaces, unless the query names one.
      namespaces: await request.access.namespaces(named && isDefault(namespaces) ? '*' : namespaces),
      named,
      includeChildren,
      ...pageOf(query),
    };
    const filter = ListFilter.of(query);
    const page = new StatusPage();
    const watched = [['jobs', '*'] as const, ['allocs', '*'] as const, ['deployment', '*'] as const];
    await this.reads.answer(request, reply, watched, async () => {
      const keep = filter?.keep<JobWithStatus>((row) => row.job);
      const { index, rows, nextToken } = await this.model.jobStatuses({ ...options, keep });
      return { nextToken, ...page.resultOf(index, rows) };
    });
  }
}

/**
 * StatusPage is what a request reads again and again while it waits. If the jobs are others than at first, that counts
 * as a change, whatever their indexes are.
 */
class StatusPage {
  private first: string | undefined;

  resultOf(tableIndex: number, rows: readonly JobWithStatus[]): Pick<ReadResult, 'index' | 'value'> {
    const jobs = JSON.stringify(rows.map(({ job }) => [job.Namespace, job.ID]).toSorted(byText));
    this.first ??= jobs;
    const index = jobs === this.first ? jobStatusIndex(rows) : Math.max(jobStatusIndex(rows), tableIndex);
    return { index, value: rows.map(jobStatusRow) };
  }
}

const byText = (a: readonly string[], b: readonly string[]): number => (a.join('\n') < b.join('\n') ? -1 : 1);

const isDefault = (namespaces: JobStatusOptions['namespaces']): boolean =>
  namespaces !== '*' && namespaces.length === 1 && namespaces[0] === 'default';

/** @throws Refusal invalid, DecodeError */
function readStatusesRequest(
  json: unknown,
  query: QueryString,
): { readonly named: Named | undefined; readonly includeChildren: boolean } {
  const asked = boolParam(query, 'include_children') ?? false;
  if (json === undefined || json === null) return { named: undefined, includeChildren: asked };
  const body = asObject(json, 'JobStatusesRequest');
  return { named: namedOf(body), includeChildren: asked || boolOf(body, 'IncludeChildren') };
}

function namedOf(body: JsonObject): Named {
  const jobs = memberOf(body, 'Jobs');
  if (jobs !== undefined && !Array.isArray(jobs)) throw badRequest('Jobs must be a list');
  if (!jobs || jobs.length === 0) throw badRequest('no jobs in request');
  if (jobs.length > MAX_NAMED_JOBS)
    throw badRequest(`request names ${jobs.length} jobs, must be ${MAX_NAMED_JOBS} or fewer`);
  return jobs.map((json: unknown) => {
    const job = asObject(json, 'JobIDAndNamespace');
    return { ID: stringOf(job, 'ID'), Namespace: stringOf(job, 'Namespace') || 'default' };
  });
}
