import { queryOptions } from '@tanstack/react-query';
import { ask } from './client.js';

/*
 * Every answer that pages keep, with its key. `live/affected-queries.ts` names the same keys: the kind of object first, then
 * what chooses it. An answer stays fresh until the event stream says that it is not.
 */

export interface JobName {
  readonly namespace: string;
  readonly id: string;
}

const ofJob = ({ namespace, id }: JobName) => ({ path: { jobID: id }, query: { namespace } });

export const jobsQuery = (namespace: string) =>
  queryOptions({
    queryKey: ['jobs', namespace],
    queryFn: ({ signal }) => ask('GET /v1/jobs', { query: { namespace }, signal }),
  });

export const namespacesQuery = () =>
  queryOptions({ queryKey: ['namespaces'], queryFn: ({ signal }) => ask('GET /v1/namespaces', { signal }) });

export const jobQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}', { ...ofJob(job), signal }),
  });

export const jobSummaryQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-summary', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}/summary', { ...ofJob(job), signal }),
  });

export const jobScaleQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-scale', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}/scale', { ...ofJob(job), signal }),
  });

export const jobAllocationsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-allocations', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}/allocations', { ...ofJob(job), signal }),
  });

export const jobEvaluationsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-evaluations', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}/evaluations', { ...ofJob(job), signal }),
  });

export const jobDeploymentsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-deployments', job.namespace, job.id],
    queryFn: ({ signal }) => ask('GET /v1/job/{jobID}/deployments', { ...ofJob(job), signal }),
  });
