import type { Allocation, Deployment, Job, JobStatus } from '@waybill/model';
import { Conditions, type ListQuery, type Namespaces } from './list-query.js';
import type { ListOrder, Page } from './page.js';
import { parseStored } from '../writing/stored-text.js';

/** An allocation of a job, without the job. */
export interface StatusAllocation {
  readonly alloc: Allocation;
  readonly jobVersion: number;
}

/** A job with the data about its status (API-185). */
export interface JobWithStatus {
  readonly job: Job;
  /** Allocations of this incarnation. */
  readonly allocs: readonly StatusAllocation[];
  readonly latestDeployment: Deployment | undefined;
  /** Statuses of its children. Undefined if it is not a parent. */
  readonly childStatuses: readonly JobStatus[] | undefined;
  /** Highest index of a child. 0 if there is none. */
  readonly childrenIndex: number;
}

export interface JobStatusOptions extends Page {
  readonly namespaces: Namespaces;
  /** Only these jobs. */
  readonly named?: readonly { readonly Namespace: string; readonly ID: string }[] | undefined;
  /** Include children of periodic and parameterized jobs. */
  readonly includeChildren: boolean;
  readonly keep?: ((row: JobWithStatus) => boolean) | undefined;
}

export interface JobStatusRaw {
  readonly table_index: number;
  readonly found: true | null;
  readonly body: Job;
  readonly allocs: readonly string[] | null;
  readonly versions: readonly string[] | null;
  readonly deployment: string | null;
  readonly children: readonly JobStatus[] | null;
  readonly children_index: number | null;
}

/**
 * Newest change first, so the list is read from its end. The token is an index, with which a web UI computes: it
 * requests the previous page with the index after this one. If a page ends between jobs of one transaction, the index
 * alone would repeat or skip some, so the token also contains the job.
 */
export const BY_CHANGE: ListOrder<JobWithStatus> = {
  columns: ['modify_index', 'namespace', 'id'],
  tokenOf: ({ job }, before) =>
    before && before.job.ModifyIndex !== job.ModifyIndex
      ? String(job.ModifyIndex)
      : `${job.ModifyIndex}.${job.Namespace}.${job.ID}`,
  parse: (token) => {
    const [, index, namespace, id] = /^(\d{1,15})(?:\.([^.]*)\.(.*))?$/s.exec(token) ?? [];
    if (index === undefined) return undefined;
    return id === undefined ? [Number(index)] : [Number(index), namespace ?? '', id];
  },
};

const IS_PARENT = `(r.body::json->>'Periodic' is not null or r.body::json->>'ParameterizedJob' is not null)`;

/** Reads all data about the jobs of a page in one statement. Cost: the allocations of its jobs. */
export function jobStatusQuery(options: JobStatusOptions): ListQuery<JobWithStatus> {
  const conditions = (): Conditions => {
    const chosen = new Conditions().in(options.namespaces);
    if (!options.includeChildren) chosen.equal('parent_id', '');
    const { named } = options;
    if (named) {
      const namespaces = chosen.value(named.map(({ Namespace }) => Namespace));
      const ids = chosen.value(named.map(({ ID }) => ID));
      chosen.where(`(r.namespace, r.id) in (select * from unnest(${namespaces}::text[], ${ids}::text[]))`);
    }
    return chosen;
  };
  return {
    indexOf: ['jobs'],
    select: 'r.body, a.allocs, a.versions, d.deployment, c.children, c.children_index',
    from: `jobs r
      left join lateral (
        select array_agg(x.body::text order by x.create_index, x.id) as allocs,
               array_agg(coalesce(j.body::json->>'Version', '0') order by x.create_index, x.id) as versions
        from allocs x
        left join alloc_job j on j.namespace = x.namespace and j.job_id = x.job_id and j.key = x.job_key
        where x.namespace = r.namespace and x.job_id = r.id and x.create_index >= r.create_index) a on true
      left join lateral (
        select x.body::text as deployment from deployment x
        where x.namespace = r.namespace and x.job_id = r.id and x.create_index >= r.create_index
        order by x.create_index desc limit 1) d on true
      left join lateral (
        select coalesce(array_agg(x.status order by x.create_index), '{}') as children,
               max(x.modify_index) as children_index
        from jobs x
        where ${IS_PARENT} and x.namespace = r.namespace and x.parent_id = r.id) c on ${IS_PARENT}`,
    conditions,
    order: BY_CHANGE,
    page: { ...options, reverse: options.reverse !== true },
  };
}

export function jobWithStatus({
  body,
  allocs,
  versions,
  deployment,
  children,
  children_index,
}: JobStatusRaw): JobWithStatus {
  return {
    job: body,
    allocs: (allocs ?? []).map((text, at) => ({
      alloc: parseStored(text) as Allocation,
      jobVersion: Number(versions?.[at] ?? 0),
    })),
    latestDeployment: deployment === null ? undefined : (parseStored(deployment) as Deployment),
    childStatuses: children ?? undefined,
    childrenIndex: children_index ?? 0,
  };
}
