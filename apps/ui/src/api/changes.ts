import type { ObjectName } from '../app/object-address.js';
import { ApiFailure, NotDone } from './api-failure.js';
import { callApi, filledPath, queryText, send } from './client.js';
import type { ACLAuthMethod, ACLBindingRule, ACLPolicy, ACLRole, ACLToken, Job } from './contract.js';

/*
 * What a reader may change. Each is answered once it can be read; the event stream then tells every page of it.
 */

const inNamespace = ({ id, namespace }: ObjectName) => ({ path: { jobID: id }, query: { namespace } });

export const stopJob = (job: ObjectName) => callApi('DELETE /v1/job/{jobID}', inNamespace(job));

/** Registers a stopped job again, unchanged, with the text of its submission. */
export async function startJob(name: ObjectName, job: Job): Promise<unknown> {
  const submission = await callApi('GET /v1/job/{jobID}/submission', {
    path: { jobID: name.id },
    query: { namespace: name.namespace, version: job.Version },
  }).catch((error: unknown) => {
    if (error instanceof ApiFailure && error.status === 404) return undefined;
    throw error;
  });
  return callApi('PUT /v1/job/{jobID}', {
    ...inNamespace(name),
    body: { Job: { ...job, Stop: false }, ...(submission && { Submission: submission }) },
  });
}

export const scaleGroup = (job: ObjectName, group: string, count: number, current: number) =>
  callApi('PUT /v1/job/{jobID}/scale', {
    ...inNamespace(job),
    body: { Count: count, Target: { Group: group }, Message: `Scaled from ${current} to ${count} in the web pages` },
  });

export const revertJob = (job: ObjectName, version: number) =>
  callApi('PUT /v1/job/{jobID}/revert', { ...inNamespace(job), body: { JobID: job.id, JobVersion: version } });

export const evaluateJob = (job: ObjectName) =>
  callApi('PUT /v1/job/{jobID}/evaluate', { ...inNamespace(job), body: { JobID: job.id, Namespace: job.namespace } });

export const launchPeriodicJob = (job: ObjectName) => callApi('PUT /v1/job/{jobID}/periodic/force', inNamespace(job));

/** @param payload a text, which is sent as its bytes */
export function dispatchJob(job: ObjectName, meta: Readonly<Record<string, string>>, payload: string) {
  const bytes = new TextEncoder().encode(payload);
  const Payload = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''));
  return callApi('PUT /v1/job/{jobID}/dispatch', {
    ...inNamespace(job),
    body: { JobID: job.id, Meta: meta, ...(payload !== '' && { Payload }) },
  });
}

export const stopAllocation = (id: string) =>
  callApi('PUT /v1/allocation/{allocID}/stop', { path: { allocID: id }, body: {} });

/** @param task the task; undefined for all tasks */
export const restartAllocation = (id: string, task?: string) =>
  callApi('PUT /v1/client/allocation/{allocID}/restart', {
    path: { allocID: id },
    body: task === undefined ? { AllTasks: true } : { TaskName: task },
  });

/** Restarts the tasks that run, and not those that have ended. */
export const restartRunningTasks = (id: string) =>
  callApi('PUT /v1/client/allocation/{allocID}/restart', { path: { allocID: id }, body: {} });

const ofDeployment = (id: string, body: object) => ({
  path: { deploymentID: id },
  body: { DeploymentID: id, ...body },
});

/** @param group the group whose canaries are promoted; undefined for all groups */
export const promoteDeployment = (id: string, group?: string) =>
  callApi(
    'PUT /v1/deployment/promote/{deploymentID}',
    ofDeployment(id, group === undefined ? { All: true } : { Groups: [group] }),
  );
export const failDeployment = (id: string) => callApi('PUT /v1/deployment/fail/{deploymentID}', ofDeployment(id, {}));
export const pauseDeployment = (id: string, pause: boolean) =>
  callApi('PUT /v1/deployment/pause/{deploymentID}', ofDeployment(id, { Pause: pause }));

export const setEligibility = (id: string, isEligible: boolean) =>
  callApi('PUT /v1/node/{nodeID}/eligibility', {
    path: { nodeID: id },
    body: { NodeID: id, Eligibility: isEligible ? 'eligible' : 'ineligible' },
  });

const NS_PER_MINUTE = 60e9;

/** @param deadlineMinutes the time after which the rest is stopped; 0 stops everything at once */
export const drainNode = (id: string, deadlineMinutes: number) =>
  callApi('PUT /v1/node/{nodeID}/drain', {
    path: { nodeID: id },
    body: {
      NodeID: id,
      DrainSpec: { Deadline: deadlineMinutes === 0 ? -1 : deadlineMinutes * NS_PER_MINUTE, IgnoreSystemJobs: false },
    },
  });

export const endDrain = (id: string) =>
  callApi('PUT /v1/node/{nodeID}/drain', {
    path: { nodeID: id },
    body: { NodeID: id, DrainSpec: null, MarkEligible: true },
  });

/** The server answers `Updated: false` if somebody else has changed the configuration meanwhile. @throws NotDone */
export async function pauseBroker(isPaused: boolean): Promise<void> {
  const { SchedulerConfig } = await callApi('GET /v1/operator/scheduler/configuration');
  const { Updated } = await callApi('PUT /v1/operator/scheduler/configuration', {
    query: { cas: SchedulerConfig.ModifyIndex },
    body: { ...SchedulerConfig, PauseEvalBroker: isPaused },
  });
  if (!Updated) throw new NotDone('Somebody else has changed the configuration meanwhile. Look again, then decide.');
}

const CHANGED_MEANWHILE = 'Somebody else has changed this variable meanwhile. Load the newest version, then decide.';

/**
 * Writes a variable if it is still the version that the caller has read. @throws NotDone, ApiFailure
 * @param checkIndex the index at which the variable was read; 0 if it must not exist
 */
export const writeVariable = (
  { namespace, id }: ObjectName,
  items: Readonly<Record<string, string>>,
  checkIndex: number,
): Promise<unknown> =>
  callApi('PUT /v1/var/{path}', {
    path: { path: id },
    query: { namespace, cas: checkIndex },
    body: { Namespace: namespace, Path: id, Items: items },
  }).catch(conflict(checkIndex === 0 ? 'There is a variable with this path already.' : CHANGED_MEANWHILE));

/** Deletes a variable if it is still the version that the caller has read. @throws NotDone, ApiFailure */
export const deleteVariable = ({ namespace, id }: ObjectName, checkIndex: number): Promise<unknown> =>
  send('DELETE', filledPath('/v1/var/{path}', { path: id }) + queryText({ namespace, cas: checkIndex })).catch(
    conflict(CHANGED_MEANWHILE),
  );

/** Replaces the answer to a conflict, which is the stored variable with its values. */
const conflict =
  (text: string) =>
  (error: unknown): never => {
    throw error instanceof ApiFailure && error.status === 409 ? new NotDone(text) : error;
  };

export const deleteHostVolume = ({ namespace, id }: ObjectName) =>
  callApi('DELETE /v1/volume/host/{volumeID}', { path: { volumeID: id }, query: { namespace } });

/** TokenDraft is a token to be created, or with an AccessorID one to be changed. */
export interface TokenDraft {
  readonly AccessorID?: string;
  readonly Name: string;
  readonly Type: ACLToken['Type'];
  readonly Policies: readonly string[];
  readonly Roles: readonly { readonly ID: string }[];
  readonly Global?: boolean;
  /** The time after which a new token expires, as text: `24h`. */
  readonly ExpirationTTL?: string;
}

export const saveToken = (token: TokenDraft): Promise<ACLToken> =>
  token.AccessorID === undefined
    ? callApi('PUT /v1/acl/token', { body: token })
    : callApi('PUT /v1/acl/token/{accessor}', { path: { accessor: token.AccessorID }, body: token });

export const deleteToken = (accessor: string) => send('DELETE', filledPath('/v1/acl/token/{accessor}', { accessor }));

export type PolicyDraft = Pick<ACLPolicy, 'Name' | 'Description' | 'Rules' | 'JobACL'>;

export const savePolicy = (policy: PolicyDraft) =>
  send('PUT', filledPath('/v1/acl/policy/{name}', { name: policy.Name }), { body: policy });

export const deletePolicy = (name: string) => send('DELETE', filledPath('/v1/acl/policy/{name}', { name }));

/** RoleDraft is a role to be created, or with an ID one to be changed. */
export type RoleDraft = Pick<ACLRole, 'Name' | 'Description' | 'Policies'> & { readonly ID?: string };

export const saveRole = (role: RoleDraft): Promise<ACLRole> =>
  role.ID === undefined
    ? callApi('PUT /v1/acl/role', { body: role })
    : callApi('PUT /v1/acl/role/{id}', { path: { id: role.ID }, body: role });

export const deleteRole = (id: string) => send('DELETE', filledPath('/v1/acl/role/{id}', { id }));

export type AuthMethodDraft = Pick<
  ACLAuthMethod,
  'Name' | 'Type' | 'Default' | 'TokenLocality' | 'MaxTokenTTL' | 'TokenNameFormat'
> & { readonly Config: object };

/** Saves an auth method. A new one replaces none of the same name. @throws ApiFailure, NotDone */
export async function saveAuthMethod(method: AuthMethodDraft, isNew: boolean): Promise<ACLAuthMethod> {
  if (!isNew) return callApi('PUT /v1/acl/auth-method/{name}', { path: { name: method.Name }, body: method });
  const known = await callApi('GET /v1/acl/auth-methods');
  if (known.some(({ Name }) => Name === method.Name))
    throw new NotDone('There is an auth method with this name already. Choose another name, or edit that one.');
  return callApi('PUT /v1/acl/auth-method', { body: method });
}

/** @param withRules whether its binding rules go too; a later method of the same name would use them */
export const deleteAuthMethod = (name: string, withRules: boolean) =>
  send(
    'DELETE',
    filledPath('/v1/acl/auth-method/{name}', { name }) + queryText({ rules: withRules ? true : undefined }),
  );

/** RuleDraft is a binding rule to be created, or with an ID one to be changed. */
export type RuleDraft = Pick<ACLBindingRule, 'AuthMethod' | 'Description' | 'BindType' | 'BindName' | 'Selector'> & {
  readonly ID?: string;
};

export const saveBindingRule = (rule: RuleDraft): Promise<ACLBindingRule> =>
  rule.ID === undefined
    ? callApi('PUT /v1/acl/binding-rule', { body: rule })
    : callApi('PUT /v1/acl/binding-rule/{id}', { path: { id: rule.ID }, body: rule });

export const deleteBindingRule = (id: string) => send('DELETE', filledPath('/v1/acl/binding-rule/{id}', { id }));

/** Exchanges a token that another system has signed for one of Waybill's. @throws ApiFailure */
export const signInWithJwt = (method: string, token: string): Promise<ACLToken> =>
  callApi('PUT /v1/acl/login', { body: { AuthMethodName: method, LoginToken: token } });
