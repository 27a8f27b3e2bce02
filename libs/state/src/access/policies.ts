import { aclPolicyHash } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import type { Write } from '../machine/write.js';

export const policyAppliers: Appliers<'ACLPolicyUpsert' | 'ACLPolicyDelete'> = {
  ACLPolicyUpsert: upsertPolicies,
  ACLPolicyDelete: deletePolicies,
};

/** Type 19: writes policies. An unchanged policy is written too, with a new ModifyIndex (OP-166). */
function upsertPolicies(w: Write, { Policies }: TxnPayloads['ACLPolicyUpsert']): void {
  for (const { Name, Description, Rules, JobACL } of Policies) {
    const said = { Name, Description, Rules, JobACL };
    const CreateIndex = w.tables.acl_policy.get(Name)?.CreateIndex ?? w.index;
    w.put('acl_policy', { ...said, Hash: aclPolicyHash(said), CreateIndex, ModifyIndex: w.index });
  }
}

/**
 * Type 20: deletes policies; unknown names are ignored. Tokens and roles keep the names of deleted policies (OP-164).
 */
function deletePolicies(w: Write, { Names }: TxnPayloads['ACLPolicyDelete']): void {
  for (const name of Names) w.remove('acl_policy', name);
}
