import { parsePolicyRules } from '@waybill/acl';
import { aclPolicyProblems, type AclPolicySpecification, formatErrors, Refusal } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';

/**
 * Creates or changes a policy (OP-161, OP-162).
 * @param name the name in the path
 * @throws Refusal invalid
 */
export function policyWrite(policy: AclPolicySpecification, name: string): Decision<'ACLPolicyUpsert'> {
  if (policy.Name !== name) throw badRequest('ACL policy name does not match request path');
  const problems = aclPolicyProblems(policy, rulesProblem(policy.Rules));
  if (problems.length > 0) throw badRequest(`policy 0 invalid: ${formatErrors(problems)}`);
  return { type: 'ACLPolicyUpsert', payload: { Policies: [policy] } };
}

/** Returns the problem of the rules (OP-130), or undefined if there is none. */
function rulesProblem(rules: string): string | undefined {
  try {
    parsePolicyRules(rules);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
