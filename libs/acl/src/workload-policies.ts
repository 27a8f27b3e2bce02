import type { Workload } from './acl.js';

/** JobAcl says to which workloads a policy is attached (OP-138, OP-162). An empty member is not set. */
export interface JobAcl {
  readonly Namespace: string;
  readonly JobID: string;
  readonly Group: string;
  readonly Task: string;
}

/**
 * Returns the policies that a workload gets by its identity: those that name only its namespace, or its namespace and
 * job, and its group and task if they are set (OP-138). Names must be equal; a prefix does not match (AU-176).
 */
export const policiesOfWorkload = <Policy extends { readonly JobACL: JobAcl | null }>(
  policies: readonly Policy[],
  workload: Workload,
): Policy[] => policies.filter(({ JobACL }) => JobACL !== null && isFor(JobACL, workload));

function isFor({ Namespace, JobID, Group, Task }: JobAcl, workload: Workload): boolean {
  if (Namespace !== workload.namespace) return false;
  // Writing a policy with a group and no job, or a task and no group, is refused. A stored policy of that form is
  // attached to no workload.
  if (JobID === '') return Group === '' && Task === '';
  if (JobID !== workload.jobId) return false;
  if (Group === '') return Task === '';
  return Group === workload.group && (Task === '' || Task === workload.task);
}
