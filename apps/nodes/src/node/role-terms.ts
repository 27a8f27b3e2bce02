import type { RoleTerms } from '@waybill/rpc';
import { type Role, SINGLETON_KEY, type Tables } from '@waybill/state';

/** The roles whose holders call machines. */
const CALLING_ROLES: readonly Role[] = ['volumes'];

/** The holders of the roles that call machines. A machine refuses calls of their predecessors (AU-256). */
export function roleTermsOf({ cluster_meta, leases }: Tables): RoleTerms {
  const meta = cluster_meta.get(SINGLETON_KEY);
  const Holders: Record<string, { Epoch: number; Holder: string }> = {};
  for (const role of CALLING_ROLES) {
    const lease = leases.get(role);
    if (lease) Holders[role] = { Epoch: lease.Epoch, Holder: lease.Holder };
  }
  return { ClusterID: meta?.ClusterID ?? '', RestoredIndex: meta?.RestoredIndex ?? 0, Holders };
}
