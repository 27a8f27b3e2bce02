import { encodeJobStub } from '@waybill/model';
import type { JobWithSummary, ReadModel } from '@waybill/projection';
import { ListFilter } from '../http/list-filter.js';
import { allowedNamespacesOf, pageOf } from '../http/list-params.js';
import { boolParam } from '../http/query-string.js';
import type { Reads } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';

/** JobList lists jobs as stubs: all jobs, those with an ID prefix, or those of a node pool (ND-187). */
export class JobList {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
  ) {}

  async answer(
    request: ApiRequest,
    reply: ApiReply,
    chosen: { readonly prefix?: string | undefined; readonly pool?: string | undefined },
  ): Promise<void> {
    const { query } = request;
    const meta = boolParam(query, 'meta') ?? false;
    const namespaces = await allowedNamespacesOf(request);
    const options = { namespaces, ...chosen, ...pageOf(query) };
    const filter = ListFilter.of(query);
    await this.reads.list(request, reply, { tables: ['jobs', 'job_summary'], scope: namespaces }, async () => {
      const keep = filter?.keep<JobWithSummary>((row) => row.job);
      const { index, rows, nextToken } = await this.model.jobs({ ...options, keep });
      return { index, nextToken, value: rows.map(({ job, summary }) => encodeJobStub(job, summary ?? null, { meta })) };
    });
  }
}
