import { queryOptions } from '@tanstack/react-query';
import type { ObjectName } from '../app/object-address.js';
import { ApiFailure } from './api-failure.js';
import { callApi, queryText, send } from './client.js';
import type { CSIVolListStub, HostVolumeStub } from './contract.js';
import { NO_SAMPLES, type Samples, withSample } from '../components/figures/samples.js';
import { sampleOfAllocation, sampleOfMachine } from '../components/figures/usage.js';
import { fileText } from '../words/file-text.js';
import type { Route } from './missing-right.js';

/*
 * Every answer that pages keep, with its key. `live/affected-queries.ts` names the same keys: the kind of object first, then
 * what chooses it. An answer stays fresh until the event stream says that it is not.
 */

const ofJob = ({ namespace, id }: ObjectName) => ({ path: { jobID: id }, query: { namespace } });

export const jobsQuery = (namespace: string) =>
  queryOptions({
    queryKey: ['jobs', namespace],
    queryFn: ({ signal }) => callApi('GET /v1/jobs', { query: { namespace }, signal }),
  });

export const namespacesQuery = () =>
  queryOptions({ queryKey: ['namespaces'], queryFn: ({ signal }) => callApi('GET /v1/namespaces', { signal }) });

export const jobQuery = (job: ObjectName) =>
  queryOptions({
    queryKey: ['job', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}', { ...ofJob(job), signal }),
  });

export const jobSummaryQuery = (job: ObjectName) =>
  queryOptions({
    queryKey: ['job-summary', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/summary', { ...ofJob(job), signal }),
  });

export const jobAllocationsQuery = (job: ObjectName) =>
  queryOptions({
    queryKey: ['job-allocations', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/allocations', { ...ofJob(job), signal }),
  });

export const jobEvaluationsQuery = (job: ObjectName) =>
  queryOptions({
    queryKey: ['job-evaluations', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/evaluations', { ...ofJob(job), signal }),
  });

export const jobDeploymentsQuery = (job: ObjectName) =>
  queryOptions({
    queryKey: ['job-deployments', job.namespace, job.id],
    queryFn: ({ signal }) => callApi('GET /v1/job/{jobID}/deployments', { ...ofJob(job), signal }),
  });

/** Returns the versions of a job with the changes from each to the next. */
export const jobVersionsQuery = (job: ObjectName) =>
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

/** Returns the routes and topics that the caller may use. Changes of policies, roles and tokens make it stale. */
export const rightsQuery = (namespace: string, path = '') =>
  queryOptions({
    queryKey: ['rights', namespace, path],
    queryFn: ({ signal }) => callApi('GET /v1/waybill/rights', { query: { namespace, path }, signal }),
  });

/** Returns what each route needs of its caller. It never changes while a server runs. */
export const routesQuery = () =>
  queryOptions({
    queryKey: ['routes'],
    queryFn: async ({ signal }) =>
      (await (await send('GET', '/v1/waybill/routes', { signal })).json()) as readonly Route[],
  });

/** Returns the text that was submitted for a version. There is none if the job was sent as JSON. */
export const jobSubmissionQuery = (job: ObjectName, version: number) =>
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

/** The time in milliseconds between two reads of what changes without an event. */
const FIGURES_INTERVAL_MS = 2_000;

/** Returns roles, lags and queues. They have no events, so they are read again while a page shows them. */
export const controlPlaneQuery = () =>
  queryOptions({
    queryKey: ['control-plane'],
    queryFn: ({ signal }) => callApi('GET /v1/waybill/control-plane', { signal }),
    refetchInterval: FIGURES_INTERVAL_MS,
    retry: false,
  });

export const serversQuery = () =>
  queryOptions({ queryKey: ['servers'], queryFn: ({ signal }) => callApi('GET /v1/agent/members', { signal }) });

export const servicesQuery = () =>
  queryOptions({
    queryKey: ['services'],
    queryFn: ({ signal }) => callApi('GET /v1/services', { query: { namespace: '*' }, signal }),
  });

/** Returns the instances of a service. */
export const serviceQuery = ({ namespace, id }: ObjectName) =>
  queryOptions({
    queryKey: ['service', namespace, id],
    queryFn: ({ signal }) => callApi('GET /v1/service/{name}', { path: { name: id }, query: { namespace }, signal }),
  });

/** The time in milliseconds between two questions for results of checks, which change without an event. */
const CHECKS_INTERVAL_MS = 10_000;

/** Returns the latest results of an allocation's checks. The machine is asked, as long as a page shows them. */
export const checksQuery = (allocation: string) =>
  queryOptions({
    queryKey: ['checks', allocation],
    queryFn: ({ signal }) => callApi('GET /v1/allocation/{allocID}/checks', { path: { allocID: allocation }, signal }),
    refetchInterval: CHECKS_INTERVAL_MS,
    retry: false,
  });

/** The time in milliseconds between two measurements, which machines make on request. */
const USAGE_INTERVAL_MS = 2_000;
/** The time in milliseconds for which measurements are kept after a page has shown them. */
const USAGE_KEPT_MS = 10 * 60_000;

const usageOptions = {
  refetchInterval: USAGE_INTERVAL_MS,
  gcTime: USAGE_KEPT_MS,
  structuralSharing: false,
  retry: false,
};

/** Returns what an allocation has used since a page first showed it. The machine is asked, as long as a page shows it. */
export const allocationUsageQuery = (id: string) =>
  queryOptions({
    queryKey: ['allocation-usage', id],
    queryFn: async ({ client, queryKey, signal }) => {
      const usage = await callApi('GET /v1/client/allocation/{allocID}/stats', { path: { allocID: id }, signal });
      return withSample(client.getQueryData<Samples>(queryKey) ?? NO_SAMPLES, sampleOfAllocation(usage));
    },
    ...usageOptions,
  });

/** Returns what a machine has used since a page first showed it. The machine is asked, as long as a page shows it. */
export const nodeUsageQuery = (id: string) =>
  queryOptions({
    queryKey: ['node-usage', id],
    queryFn: async ({ client, queryKey, signal }) => {
      const usage = await callApi('GET /v1/client/stats', { query: { node_id: id }, signal });
      return withSample(client.getQueryData<Samples>(queryKey) ?? NO_SAMPLES, sampleOfMachine(usage));
    },
    ...usageOptions,
  });

export const variablesQuery = () =>
  queryOptions({
    queryKey: ['variables'],
    queryFn: ({ signal }) => callApi('GET /v1/vars', { query: { namespace: '*' }, signal }),
  });

export const variableQuery = ({ namespace, id }: ObjectName) =>
  queryOptions({
    queryKey: ['variable', namespace, id],
    queryFn: ({ signal }) => callApi('GET /v1/var/{path}', { path: { path: id }, query: { namespace }, signal }),
  });

export const csiVolumesQuery = () =>
  queryOptions({
    queryKey: ['csi-volumes'],
    queryFn: async ({ signal }) =>
      (await callApi('GET /v1/volumes', {
        query: { type: 'csi', namespace: '*' },
        signal,
      })) as readonly CSIVolListStub[],
  });

export const hostVolumesQuery = () =>
  queryOptions({
    queryKey: ['host-volumes'],
    queryFn: async ({ signal }) =>
      (await callApi('GET /v1/volumes', {
        query: { type: 'host', namespace: '*' },
        signal,
      })) as readonly HostVolumeStub[],
  });

export const csiVolumeQuery = ({ namespace, id }: ObjectName) =>
  queryOptions({
    queryKey: ['csi-volume', namespace, id],
    queryFn: ({ signal }) =>
      callApi('GET /v1/volume/csi/{volumeID}', { path: { volumeID: id }, query: { namespace }, signal }),
  });

export const hostVolumeQuery = ({ namespace, id }: ObjectName) =>
  queryOptions({
    queryKey: ['host-volume', namespace, id],
    queryFn: ({ signal }) =>
      callApi('GET /v1/volume/host/{volumeID}', { path: { volumeID: id }, query: { namespace }, signal }),
  });

export const pluginsQuery = () =>
  queryOptions({
    queryKey: ['plugins'],
    queryFn: ({ signal }) => callApi('GET /v1/plugins', { query: { type: 'csi' }, signal }),
  });

export const pluginQuery = (id: string) =>
  queryOptions({
    queryKey: ['plugin', id],
    queryFn: ({ signal }) => callApi('GET /v1/plugin/csi/{pluginID}', { path: { pluginID: id }, signal }),
  });

export const tokensQuery = () =>
  queryOptions({ queryKey: ['tokens'], queryFn: ({ signal }) => callApi('GET /v1/acl/tokens', { signal }) });

export const tokenQuery = (accessor: string) =>
  queryOptions({
    queryKey: ['token', accessor],
    queryFn: ({ signal }) => callApi('GET /v1/acl/token/{accessor}', { path: { accessor }, signal }),
  });

export const policiesQuery = () =>
  queryOptions({ queryKey: ['policies'], queryFn: ({ signal }) => callApi('GET /v1/acl/policies', { signal }) });

export const policyQuery = (name: string) =>
  queryOptions({
    queryKey: ['policy', name],
    queryFn: ({ signal }) => callApi('GET /v1/acl/policy/{name}', { path: { name }, signal }),
  });

export const rolesQuery = () =>
  queryOptions({ queryKey: ['roles'], queryFn: ({ signal }) => callApi('GET /v1/acl/roles', { signal }) });

export const roleQuery = (id: string) =>
  queryOptions({
    queryKey: ['role', id],
    queryFn: ({ signal }) => callApi('GET /v1/acl/role/{id}', { path: { id }, signal }),
  });

/** Returns the auth methods. The request is refused while access control is off. */
export const authMethodsQuery = () =>
  queryOptions({
    queryKey: ['auth-methods'],
    queryFn: ({ signal }) => callApi('GET /v1/acl/auth-methods', { signal }),
    retry: false,
  });

export const authMethodQuery = (name: string) =>
  queryOptions({
    queryKey: ['auth-method', name],
    queryFn: ({ signal }) => callApi('GET /v1/acl/auth-method/{name}', { path: { name }, signal }),
  });

export const bindingRulesQuery = () =>
  queryOptions({
    queryKey: ['binding-rules'],
    queryFn: ({ signal }) => callApi('GET /v1/acl/binding-rules', { signal }),
  });

export const bindingRuleQuery = (id: string) =>
  queryOptions({
    queryKey: ['binding-rules', id],
    queryFn: ({ signal }) => callApi('GET /v1/acl/binding-rule/{id}', { path: { id }, signal }),
  });

/** Returns where an evaluation spent its time, with the steps of all its allocations. */
export const traceQuery = (evaluation: string) =>
  queryOptions({
    queryKey: ['trace', evaluation],
    queryFn: ({ signal }) =>
      callApi('GET /v1/waybill/trace/evaluation/{evalID}', {
        path: { evalID: evaluation },
        query: { namespace: '*', allocs: true },
        signal,
      }),
    retry: false,
  });

/** HistoryObject is an object whose earlier states can be read. The namespace is empty if the kind has none. */
export interface HistoryObject extends ObjectName {
  readonly kind: string;
}

const namespaceOf = ({ namespace }: HistoryObject): string => (namespace === '' ? '*' : namespace);

/** Returns the newest transactions about an object. */
export const objectLogQuery = (of: HistoryObject) =>
  queryOptions({
    queryKey: ['object-log', of.kind, of.namespace, of.id],
    queryFn: ({ signal }) =>
      callApi('GET /v1/waybill/log', {
        query: { kind: of.kind, id: of.id, namespace: namespaceOf(of), per_page: MOST_ROWS },
        signal,
      }),
  });

/** Returns an object as it was after an index, which never changes. It is null if the object did not exist. */
export const objectAtQuery = (of: HistoryObject, index: number) =>
  queryOptions({
    queryKey: ['object-at', of.kind, of.namespace, of.id, String(index)],
    queryFn: ({ signal }) =>
      callApi('GET /v1/waybill/state/{kind}/{id}', {
        path: { kind: of.kind, id: of.id },
        query: { namespace: namespaceOf(of), index },
        signal,
      }).catch((error: unknown) => {
        if (error instanceof ApiFailure && error.status === 404) return null;
        throw error;
      }),
  });

/** Lists a directory of an allocation. Files change without an event, so it is read whenever a page shows it. */
export const filesQuery = (allocation: string, path: string) =>
  queryOptions({
    queryKey: ['files', allocation, path],
    queryFn: async ({ signal }) =>
      (await callApi('GET /v1/client/fs/ls/{allocID}', { path: { allocID: allocation }, query: { path }, signal })) ??
      [],
    staleTime: 0,
    retry: false,
  });

/** The number of bytes of a file that a page shows. */
const MOST_FILE_BYTES = 262_144;

/** Returns the beginning of a file of an allocation. @param size the size of the whole file, in bytes */
export const fileQuery = (allocation: string, path: string, size: number) =>
  queryOptions({
    queryKey: ['file', allocation, path, String(size)],
    queryFn: async ({ signal }) => {
      const query = queryText({ path, offset: 0, limit: MOST_FILE_BYTES });
      const answer = await send('GET', `/v1/client/fs/readat/${encodeURIComponent(allocation)}${query}`, { signal });
      return fileText(new Uint8Array(await answer.arrayBuffer()), size);
    },
    staleTime: 0,
    retry: false,
  });
