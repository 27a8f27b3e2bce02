import type { Acl } from '@waybill/acl';
import { type Claims, TokenRefusedError } from '@waybill/keyring';
import {
  type AclPolicy,
  type Allocation,
  DEFAULT_AUDIENCE,
  isClientTerminal,
  type PolicyWorkload,
} from '@waybill/model';
import type { Caller } from './caller.js';

/** What the caller of an identity is found out from. */
export interface WorkloadSource {
  /** @throws TokenRefusedError no key of this cluster signed it, or it does not count now; `Keyring` is one */
  verifyJwt(token: string): Promise<Claims>;
  /**
   * The allocation, which a read model that is behind may have a moment later.
   * @param issuedAtMs when its identity was issued, unix ms
   */
  allocation(id: string, issuedAtMs: number): Promise<Allocation | undefined>;
  /** Those that the identity gets by their JobACL (OP-138). */
  policiesOfWorkload(workload: PolicyWorkload): Promise<readonly AclPolicy[]>;
}

/** Whose identity it is, as its claims say. */
interface Claimed {
  readonly allocId: string;
  readonly namespace: string;
  readonly jobId: string;
  /** Empty: the identity is a service's. */
  readonly task: string;
  readonly service: string;
  readonly identity: string;
}

/** A credential in the form of a JWT; a token's secret never has a point in it. */
export const isIdentityToken = (credential: string): boolean => credential.includes('.');

/**
 * The caller of a workload identity (AU-171 to AU-177). Nothing of it is remembered: its allocation is looked at for every
 * request, because its rights end with it. Cost: one signature, and a statement each for allocation and policies.
 * @param compiled what its policies allow together
 * @throws TokenRefusedError it is no credential, and why; what the read model throws
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
    workload: { ...about, allocId, identity, policies: names, expiresAtMs },
  };
}

/** @throws TokenRefusedError it is for somebody else (AU-172), or no workload's (AU-175) */
function claimedBy(claims: Claims): Claimed {
  const audience = [claims.aud ?? []].flat();
  // An identity for somebody else, leaked there, opens nothing here (AU-172).
  if (!audience.includes(DEFAULT_AUDIENCE)) throw new TokenRefusedError(`the token is not for ${DEFAULT_AUDIENCE}`);
  const allocId = textOf(claims, 'nomad_allocation_id');
  const [task, service] = [textOf(claims, 'nomad_task'), textOf(claims, 'nomad_service')];
  if (allocId === '' || (task === '') === (service === ''))
    throw new TokenRefusedError('failed to determine claim type');
  const identity = (claims.sub ?? '').split(':').at(-1) ?? '';
  const [namespace, jobId] = [textOf(claims, 'nomad_namespace'), textOf(claims, 'nomad_job_id')];
  return { allocId, namespace, jobId, task, service, identity };
}

function textOf(claims: Claims, name: string): string {
  const value = claims[name];
  return typeof value === 'string' ? value : '';
}

/** @throws TokenRefusedError the allocation is unknown or over (AU-177), or the claims are not those of its job (AU-173) */
function checkAgainst(alloc: Allocation | undefined, claimed: Claimed): asserts alloc is Allocation {
  const job = alloc?.Job;
  if (!alloc || !job) throw new TokenRefusedError('allocation not found');
  if (isClientTerminal(alloc)) throw new TokenRefusedError('allocation is terminal');
  const group = job.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  const hasTask = claimed.task === '' || group?.Tasks.some(({ Name }) => Name === claimed.task) === true;
  const isOfJob = claimed.namespace === alloc.Namespace && claimed.jobId === (job.ParentID || job.ID);
  if (!group || !hasTask || !isOfJob) throw new TokenRefusedError('the claims do not fit the allocation');
}
