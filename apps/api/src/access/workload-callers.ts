import type { Acl } from '@waybill/acl';
import { type Claims, textClaim, TokenRefusedError } from '@waybill/keyring';
import {
  type AclPolicy,
  type Allocation,
  DEFAULT_AUDIENCE,
  isClientTerminal,
  type PolicyWorkload,
} from '@waybill/model';
import { type Caller, newestOf } from './caller.js';

/** WorkloadSource reads what is needed to find the caller of an identity. */
export interface WorkloadSource {
  /**
   * `Keyring` implements it. @throws TokenRefusedError if no key of this cluster signed the token, or it is not valid
   * now
   */
  verifyJwt(token: string): Promise<Claims>;
  /**
   * Returns the allocation. A read model that lags behind may have it only a moment later.
   * @param issuedAtMs the time at which the identity was issued, in Unix milliseconds
   */
  allocation(id: string, issuedAtMs: number): Promise<Allocation | undefined>;
  /** Returns the policies that the identity gets by their JobACL (OP-138). */
  policiesOfWorkload(workload: PolicyWorkload): Promise<readonly AclPolicy[]>;
}

/** Claimed is the workload that the claims name. */
interface Claimed {
  readonly allocId: string;
  readonly namespace: string;
  readonly jobId: string;
  /** The task is empty if the identity is a service's. */
  readonly task: string;
  readonly service: string;
  readonly identity: string;
}

/**
 * Returns the caller of a workload identity (AU-171 to AU-177). It remembers nothing: it reads the allocation for every
 * request, because the rights end with it. Cost: one signature, and one statement each for allocation and policies.
 * @param compiled compiles policies to the rights that they give together
 * @throws TokenRefusedError if it is no credential, with the reason; the errors of the read model
 */
export async function workloadCaller(
  token: string,
  source: WorkloadSource,
  compiled: (policies: readonly AclPolicy[]) => Acl,
): Promise<Caller> {
  const claims = await source.verifyJwt(token);
  const claimed = claimedBy(claims);
  const alloc = await source.allocation(claimed.allocId, (claims.iat ?? 0) * 1_000);
  checkAgainst(alloc, claimed);
  const { allocId, namespace, jobId, task, identity } = claimed;
  const about = { namespace, jobId, group: alloc.TaskGroup, task };
  const policies = await source.policiesOfWorkload(about);
  const names = policies.map(({ Name }) => Name);
  const expiresAtMs = claims.exp === undefined ? undefined : claims.exp * 1_000;
  return {
    actor: { Kind: 'token', ID: `alloc:${allocId}`, Name: claims.sub ?? '' },
    acl: compiled(policies),
    grants: undefined,
    token: undefined,
    rightsIndex: newestOf([alloc, ...policies]),
    workload: { ...about, allocId, identity, policies: names, expiresAtMs },
  };
}

/** @throws TokenRefusedError if it is for another audience (AU-172), or not a workload's (AU-175) */
function claimedBy(claims: Claims): Claimed {
  const audience = [claims.aud ?? []].flat();
  // An identity for another audience that leaked there gives no access here (AU-172).
  if (!audience.includes(DEFAULT_AUDIENCE)) throw new TokenRefusedError(`the token is not for ${DEFAULT_AUDIENCE}`);
  const allocId = textClaim(claims, 'nomad_allocation_id');
  const [task, service] = [textClaim(claims, 'nomad_task'), textClaim(claims, 'nomad_service')];
  if (allocId === '' || (task === '') === (service === ''))
    throw new TokenRefusedError('failed to determine claim type');
  const identity = (claims.sub ?? '').split(':').at(-1) ?? '';
  const [namespace, jobId] = [textClaim(claims, 'nomad_namespace'), textClaim(claims, 'nomad_job_id')];
  return { allocId, namespace, jobId, task, service, identity };
}

/**
 * @throws TokenRefusedError if the allocation is unknown or ended (AU-177), or the claims do not match its job (AU-173)
 */
function checkAgainst(alloc: Allocation | undefined, claimed: Claimed): asserts alloc is Allocation {
  const job = alloc?.Job;
  if (!alloc || !job) throw new TokenRefusedError('allocation not found');
  if (isClientTerminal(alloc)) throw new TokenRefusedError('allocation is terminal');
  const group = job.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  const hasTask = claimed.task === '' || group?.Tasks.some(({ Name }) => Name === claimed.task) === true;
  const isOfJob = claimed.namespace === alloc.Namespace && claimed.jobId === (job.ParentID || job.ID);
  if (!group || !hasTask || !isOfJob) throw new TokenRefusedError('the claims do not fit the allocation');
}
