import { type Claims, TokenRefusedError } from '@waybill/keyring';
import { type Allocation, type Clock, DEFAULT_AUDIENCE } from '@waybill/model';

/** Before the dot: what a signature would vouch for. */
const SIGNED = 'signed.';

/** In place of a signed token: the claims themselves. Only the servers of the simulation make them. */
export const plainIdentity = (claims: Claims): string => SIGNED + JSON.stringify(claims);

/** The identity of the first task of an allocation. @param expiresAtMs undefined: it lives as long as the allocation */
export function identityOf(alloc: Allocation, issuedAtMs: number, expiresAtMs?: number): string {
  const job = alloc.Job;
  const task = job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup)?.Tasks[0]?.Name ?? '';
  return plainIdentity({
    aud: DEFAULT_AUDIENCE,
    sub: `${alloc.JobID}:${task}:default`,
    iat: Math.floor(issuedAtMs / 1_000),
    ...(expiresAtMs !== undefined && { exp: Math.floor(expiresAtMs / 1_000) }),
    nomad_allocation_id: alloc.ID,
    nomad_namespace: alloc.Namespace,
    nomad_job_id: job?.ParentID || alloc.JobID,
    nomad_task: task,
  });
}

/** As `Keyring.verifyJwt`, without the leeway. */
export async function verifyPlainIdentity(token: string, clock: Clock): Promise<Claims> {
  if (!token.startsWith(SIGNED)) throw new TokenRefusedError('nobody has signed it');
  const claims = JSON.parse(token.slice(SIGNED.length)) as Claims;
  if (claims.exp !== undefined && claims.exp * 1_000 <= clock.nowMs()) throw new TokenRefusedError('it has expired');
  return claims;
}
