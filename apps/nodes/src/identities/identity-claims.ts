import type { Claims } from '@waybill/keyring';
import {
  type Allocation,
  type ClaimsOfNamespace,
  consulBlockOf,
  DEFAULT_AUDIENCE,
  extraClaimsOf,
  findTaskGroup,
  identitiesOf,
  isClientTerminal,
  isDefaultIdentity,
  type Job,
  msFromNs,
  type Node,
  NS_PER_SECOND,
  type Service,
  SERVICE_NAME,
  type Task,
  vaultIdentityName,
  type WorkloadIdentity,
} from '@waybill/model';
import type { IdentityRequest } from '@waybill/rpc';
import { extraClaimText } from './extra-claim-texts.js';
import { uuidOfName } from './uuid-of-name.js';

/** The stored rows of the allocation whose identity is requested. */
export interface Bearer {
  readonly alloc: Allocation;
  readonly job: Job;
  readonly node: Node;
  readonly namespace: ClaimsOfNamespace;
}

export interface ClaimsContext {
  /** Empty if none is configured. */
  readonly issuer: string;
  readonly nowMs: number;
  readonly newId: () => string;
}

export type ClaimsDecision =
  /** `ofAllocation`: the claims must be signed with the allocation's own key instead of the active one. */
  | { readonly claims: Claims; readonly ofAllocation: boolean; readonly validMs: number | null }
  /** Why the identity gets no token (AU-139, AU-142). */
  | { readonly reason: string };

/** The workload as an identity names it. */
interface Workload {
  readonly identity: WorkloadIdentity;
  /** Part of the subject: the name of a service as its job has it. */
  readonly written: string;
  /** The claim that names the identity's owner. */
  readonly claim: Claims;
  readonly task?: Task;
}

/**
 * The claims of an identity's token, or the reason why there is none (AU-131 to AU-134, AU-139, AU-142). A default
 * identity does not expire, and its claims are the same each time (AU-137).
 */
export function identityClaims(request: IdentityRequest, bearer: Bearer, context: ClaimsContext): ClaimsDecision {
  if (isClientTerminal(bearer.alloc)) return { reason: 'allocation is terminal' };
  const found = request.WorkloadType === 'task' ? ofTask(request, bearer) : ofService(request, bearer);
  if ('reason' in found) return found;
  return found.task && isDefaultIdentity(found.identity)
    ? defaultClaims(found, found.task, bearer, context)
    : namedClaims(found, bearer, context);
}

function defaultClaims(workload: Workload, task: Task, bearer: Bearer, context: ClaimsContext): ClaimsDecision {
  const issuedS = Math.floor(msFromNs(bearer.alloc.CreateTime) / 1_000);
  const audience = { aud: DEFAULT_AUDIENCE };
  const id = uuidOfName(bearer.alloc.ID, task.Name);
  const claims = { ...common(workload, bearer, context), ...audience, iat: issuedS, nbf: issuedS, jti: id };
  return { claims, ofAllocation: true, validMs: null };
}

function namedClaims(workload: Workload, bearer: Bearer, context: ClaimsContext): ClaimsDecision {
  const { TTL, Audience } = workload.identity;
  const issuedS = Math.floor(context.nowMs / 1_000);
  const expiresS = TTL > 0 ? issuedS + Math.max(1, Math.round(TTL / NS_PER_SECOND)) : undefined;
  const [audience, ...others] = Audience ?? [];
  const claims = {
    ...common(workload, bearer, context),
    ...(audience !== undefined && { aud: others.length === 0 ? audience : [audience, ...others] }),
    iat: issuedS,
    nbf: issuedS,
    ...(expiresS !== undefined && { exp: expiresS }),
    jti: context.newId(),
  };
  const validMs = expiresS === undefined ? null : expiresS * 1_000 - context.nowMs;
  return { claims, ofAllocation: false, validMs };
}

/** The claims of every identity of a workload (section 1.6). */
function common({ identity, written, claim, task }: Workload, bearer: Bearer, { issuer }: ClaimsContext): Claims {
  const { alloc, job, namespace } = bearer;
  const jobId = job.ParentID || job.ID;
  const name = isDefaultIdentity(identity) && task ? 'default' : identity.Name;
  const extra = Object.entries(extraClaimsOf(identity, namespace)).map(
    ([key, text]) => [key, extraClaimText(text, { ...bearer, task })] as const,
  );
  return {
    ...(issuer !== '' && { iss: issuer }),
    sub: [job.Region, alloc.Namespace, jobId, alloc.TaskGroup, written, name].join(':'),
    nomad_namespace: alloc.Namespace,
    nomad_job_id: jobId,
    nomad_allocation_id: alloc.ID,
    ...claim,
    ...othersClaims(identity, bearer, task),
    ...(extra.length > 0 && { extra_claims: Object.fromEntries(extra) }),
  };
}

/** The claims that Consul and Vault expect (AU-127). */
function othersClaims({ Name }: WorkloadIdentity, { alloc, job }: Bearer, task: Task | undefined): Claims {
  const group = findTaskGroup(job, alloc.TaskGroup);
  const consul = group && (task ? consulBlockOf(group, task) : group.Consul)?.Namespace;
  const block = task?.Vault;
  const vault = block && Name === vaultIdentityName(block.Cluster) ? block : undefined;
  return {
    ...(Name.startsWith('consul') && consul && { consul_namespace: consul }),
    ...(vault?.Namespace && { vault_namespace: vault.Namespace }),
    ...(vault?.Role && { vault_role: vault.Role }),
  };
}

function ofTask({ Workload, Identity }: IdentityRequest, { alloc, job }: Bearer): Workload | { reason: string } {
  const task = findTaskGroup(job, alloc.TaskGroup)?.Tasks.find(({ Name }) => Name === Workload);
  if (!task) return { reason: 'task not found' };
  const identity = identitiesOf(task).find((one) =>
    isDefaultIdentity(one) ? isDefaultIdentity({ Name: Identity }) : one.Name === Identity,
  );
  if (!identity) return { reason: 'identity not found' };
  return { identity, task, written: task.Name, claim: { nomad_task: task.Name } };
}

/** The identity of a service of the allocation's own group (AU-142). */
function ofService(request: IdentityRequest, { alloc, job }: Bearer): Workload | { reason: string } {
  const group = findTaskGroup(job, alloc.TaskGroup);
  const services = [...(group?.Services ?? []), ...(group?.Tasks ?? []).flatMap((task) => task.Services ?? [])];
  const identityOf = (service: Service): WorkloadIdentity | null =>
    service.Name === request.Workload && service.Identity?.Name === request.Identity ? service.Identity : null;
  const identity = services.map(identityOf).find((found) => found !== null);
  const name = request.InterpolatedName ?? request.Workload;
  if (!identity || !canBecome(request.Workload, name)) return { reason: 'identity not found' };
  return { identity, written: request.Workload, claim: { nomad_service: name } };
}

/** Whether interpolating variables can turn a service's name as written into this one (AU-133). */
function canBecome(written: string, name: string): boolean {
  const [first = '', ...others] = written.split(/\$\{[^}]*\}/);
  const last = others.pop();
  if (!SERVICE_NAME.test(name) || !name.startsWith(first)) return false;
  if (last === undefined) return name === first;
  let at = first.length;
  for (const literal of others) {
    const found = name.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return name.endsWith(last) && at + last.length <= name.length;
}
