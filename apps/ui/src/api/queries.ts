import { queryOptions } from '@tanstack/react-query';
import { callApi, send } from './client.js';
import type { Route } from './missing-right.js';

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
    queryFn: ({ signal }) => callApi('GET /v1/jobs', { query: { namespace }, signal }),
  });

export const namespacesQuery = () =>
  queryOptions({ queryKey: ['namespaces'], queryFn: ({ signal }) => callApi('GET /v1/namespaces', { signal }) });

export const jobQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}', { ...ofJob(job), signal }),
  });

export const jobSummaryQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-summary', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/summary', { ...ofJob(job), signal }),
  });

export const jobScaleQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-scale', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/scale', { ...ofJob(job), signal }),
  });

export const jobAllocationsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-allocations', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/allocations', { ...ofJob(job), signal }),
  });

export const jobEvaluationsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-evaluations', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/evaluations', { ...ofJob(job), signal }),
  });

export const jobDeploymentsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-deployments', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/deployments', { ...ofJob(job), signal }),
  });

/** Returns the versions of a job with the changes from each to the next. */
export const jobVersionsQuery = (job: JobName) =>
  queryOptions({
    queryKey: ['job-versions', job.namespace, job.id],
    queryFn: ({ signal }) =>
      callApi('GET /v1/job/{jobID}/versions', {
        path: { jobID: job.id },
        query: { namespace: job.namespace, diffs: true },
        signal,
      }),
  });

export const allocationQuery = (id: string) =>
  queryOptions({
    queryKey: ['allocation', id],
    queryFn: ({ signal }) => callApi('GET /v1/allocation/{allocID}', { path: { allocID: id }, signal }),
  });

export const nodesQuery = () =>
  queryOptions({ queryKey: ['nodes'], queryFn: ({ signal }) => callApi('GET /v1/nodes', { signal }) });

export const nodeQuery = (id: string) =>
  queryOptions({
    queryKey: ['node', id],
    queryFn: ({ signal }) => callApi('GET /v1/node/{nodeID}', { path: { nodeID: id }, signal }),
  });

export const nodeAllocationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['node-allocations', id],
    queryFn: ({ signal }) => callApi('GET /v1/node/{nodeID}/allocations', { path: { nodeID: id }, signal }),
  });

/** The number of rows that a reader looks through, the newest first. Filters find the others. */
const MOST_ROWS = 500;

export const evaluationsQuery = (status: string | undefined) =>
  queryOptions({
    queryKey: ['evaluations', status ?? ''],
    queryFn: ({ signal }) =>
      callApi('GET /v1/evaluations', { query: { namespace: '*', reverse: true, per_page: MOST_ROWS, status }, signal }),
  });

export const evaluationQuery = (id: string) =>
  queryOptions({
    queryKey: ['evaluation', id],
    queryFn: ({ signal }) => callApi('GET /v1/evaluation/{evalID}', { path: { evalID: id }, signal }),
  });

export const deploymentsQuery = () =>
  queryOptions({
    queryKey: ['deployments'],
    queryFn: ({ signal }) =>
      callApi('GET /v1/deployments', { query: { namespace: '*', reverse: true, per_page: MOST_ROWS }, signal }),
  });

export const deploymentQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployment', id],
    queryFn: ({ signal }) => callApi('GET /v1/deployment/{deploymentID}', { path: { deploymentID: id }, signal }),
  });

export const deploymentAllocationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployment-allocations', id],
    queryFn: ({ signal }) =>
      callApi('GET /v1/deployment/allocations/{deploymentID}', { path: { deploymentID: id }, signal }),
  });

/** Returns the owner of the token. */
export const ownTokenQuery = () =>
  queryOptions({
    queryKey: ['own-token'],
    queryFn: ({ signal }) => callApi('GET /v1/acl/token/self', { signal }),
    retry: false,
  });

/** Returns what each route needs of its caller. It never changes while a server runs. */
export const routesQuery = () =>
  queryOptions({
    queryKey: ['routes'],
    queryFn: async ({ signal }) =>
      (await (await send('GET', '/v1/waybill/routes', { signal })).json()) as readonly Route[],
  });

/** Returns the text that was submitted for a version. There is none if the job was sent as JSON. */
export const jobSubmissionQuery = (job: JobName, version: number) =>
  queryOptions({
    queryKey: ['job-submission', job.namespace, job.id, String(version)],
    queryFn: ({ signal }) =>
      callApi('GET /v1/job/{jobID}/submission', {
        path: { jobID: job.id },
        query: { namespace: job.namespace, version },
        signal,
      }),
    retry: false,
  });

export const schedulerConfigurationQuery = () =>
  queryOptions({
    queryKey: ['scheduler-configuration'],
    queryFn: ({ signal }) => callApi('GET /v1/operator/scheduler/configuration', { signal }),
    retry: false,
  });

export const serversQuery = () =>
  queryOptions({ queryKey: ['servers'], queryFn: ({ signal }) => callApi('GET /v1/agent/members', { signal }) });
