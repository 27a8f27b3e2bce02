import type { ScalingPolicy } from './shared-blocks.js';
import { isDeepStrictEqual } from 'node:util';
import type { Job } from './job.js';

/**
 * API-106: whether registering `next` over `stored` is a new version. Not counted: status, indexes, version, stability,
 * submit time, version tag, the submitter's token, and what the server keeps in scaling policies.
 */
export function specChanged(stored: Job, next: Job): boolean {
  return !isDeepStrictEqual(specification(stored), specification(next));
}

function specification(job: Job): Job {
  return {
    ...job,
    Status: 'pending',
    StatusDescription: '',
    Version: 0,
    Stable: false,
    SubmitTime: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
    VersionTag: null,
    NomadTokenID: '',
    TaskGroups: job.TaskGroups.map((group) => ({
      ...group,
      Scaling: group.Scaling === null ? null : scalingSpecification(group.Scaling),
      Tasks: group.Tasks.map((task) => ({
        ...task,
        ScalingPolicies: task.ScalingPolicies?.map(scalingSpecification) ?? null,
      })),
    })),
  };
}

/** The policy without what the server keeps in it. */
export function scalingSpecification(policy: ScalingPolicy): ScalingPolicy {
  return { ...policy, ID: '', CreateIndex: 0, ModifyIndex: 0 };
}
