import { contentHash } from '../encoding/content-hash.js';
import { MAX_ACL_DESCRIPTION_CHARS, MAX_JOB_ACL_BYTES, MAX_POLICY_RULES_BYTES } from '../limits/acl-limits.js';
import { NAMESPACE_NAME } from '../limits/name-limits.js';

/**
 * Selects the workloads that have a policy although no token names it (OP-138, OP-162). An empty member matches every
 * workload.
 */
export interface JobAcl {
  Namespace: string;
  JobID: string;
  Group: string;
  Task: string;
}

/** A stored policy. `Rules` is the text as its author wrote it. */
export interface AclPolicy {
  Name: string;
  Description: string;
  Rules: string;
  JobACL: JobAcl | null;
  Hash: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** The members of a policy that a user may set. */
export type AclPolicySpecification = Omit<AclPolicy, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** The policy of callers without a token (OP-112). */
export const ANONYMOUS_POLICY = 'anonymous';

/** Two policies with the same specification have the same hash. */
export const aclPolicyHash = (policy: AclPolicySpecification): string => contentHash(policy);

/**
 * Returns the problems of a policy specification (OP-161, OP-162).
 * @param rulesProblem the problem of its rules, or undefined if they are valid
 */
export function aclPolicyProblems(policy: AclPolicySpecification, rulesProblem: string | undefined): string[] {
  const { Name, Description, Rules, JobACL } = policy;
  const problems: string[] = [];
  if (!NAMESPACE_NAME.test(Name)) problems.push(`invalid name '${Name}'`);
  if (rulesProblem !== undefined) problems.push(`failed to parse rules: ${rulesProblem}`);
  if (Buffer.byteLength(Rules) > MAX_POLICY_RULES_BYTES)
    problems.push(`rules longer than ${MAX_POLICY_RULES_BYTES} bytes`);
  if (Array.from(Description).length > MAX_ACL_DESCRIPTION_CHARS)
    problems.push(`description longer than ${MAX_ACL_DESCRIPTION_CHARS}`);
  if (JobACL) for (const item of jobAclProblems(JobACL)) problems.push(item);
  return problems;
}

function jobAclProblems({ Namespace, JobID, Group, Task }: JobAcl): string[] {
  const problems: string[] = [];
  if (JobID !== '' && Namespace === '') problems.push('namespace must be set to set job ID');
  if (Group !== '' && JobID === '') problems.push('job ID must be set to set group');
  if (Task !== '' && Group === '') problems.push('group must be set to set task');
  if ([Namespace, JobID, Group, Task].some((name) => Buffer.byteLength(name) > MAX_JOB_ACL_BYTES))
    problems.push(`job ACL has a name longer than ${MAX_JOB_ACL_BYTES} bytes`);
  return problems;
}

/** A workload as policies are matched against it. A child job is matched by the ID of its parent. */
export interface PolicyWorkload {
  readonly namespace: string;
  readonly jobId: string;
  readonly group: string;
  readonly task: string;
}

/** Whether a policy applies to a workload: every member that its JobACL sets equals the workload's (OP-138, AU-176). */
export function isPolicyOf({ JobACL }: Pick<AclPolicy, 'JobACL'>, workload: PolicyWorkload): boolean {
  if (!JobACL || JobACL.Namespace === '' || JobACL.Namespace !== workload.namespace) return false;
  const fits = (named: string, is: string): boolean => named === '' || named === is;
  return fits(JobACL.JobID, workload.jobId) && fits(JobACL.Group, workload.group) && fits(JobACL.Task, workload.task);
}
