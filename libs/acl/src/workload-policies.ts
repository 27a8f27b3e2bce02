import type { Workload } from './acl.js';

/** To which workloads a policy is attached (OP-138, OP-162). Empty members are not given. */
export interface JobAcl {
  readonly Namespace: string;
  readonly JobID: string;
  readonly Group: string;
  readonly Task: string;
}

/**
 * The policies that a workload gets by its identity: those that name its namespace alone, or its namespace and job, and
 * its group and task where they are given (OP-138). All names are compared as they are, never by prefix (AU-176).
 */
export const policiesOfWorkload = <Policy extends { readonly JobACL: JobAcl | null }>(
  policies: readonly Policy[],
  workload: Workload,
): Policy[] => policies.filter(({ JobACL }) => JobACL !== null && isFor(JobACL, workload));

function isFor({ Namespace, JobID, Group, Task }: JobAcl, workload: Workload): boolean {
  if (Namespace !== workload.namespace) return false;
  // A group without job, or a task without group, is refused when a policy is written, and attaches it to nobody.
  if (JobID === '') return Group === '' && Task === '';
  if (JobID !== workload.jobId) return false;
  if (Group === '') return Task === '';
  return Group === workload.group && (Task === '' || Task === workload.task);
}
