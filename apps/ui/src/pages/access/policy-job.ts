import type { ACLPolicyListStub } from '../../api/contract.js';

/** Returns the workload whose identity has the policy, in words; undefined if tokens and roles have it. */
export function jobOfPolicy({ JobACL }: Pick<ACLPolicyListStub, 'JobACL'>): string | undefined {
  if (JobACL === null || JobACL.Namespace === '') return undefined;
  const { Namespace, JobID, Group, Task } = JobACL;
  return [
    Task !== '' && `task ${Task} of`,
    Group !== '' && `group ${Group} of`,
    JobID === '' ? 'every job' : `job ${JobID}`,
    `in ${Namespace}`,
  ]
    .filter(Boolean)
    .join(' ');
}
