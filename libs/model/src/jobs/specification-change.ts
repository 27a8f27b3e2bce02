import type { ScalingPolicy } from './shared-blocks.js';
import { isDeepStrictEqual } from 'node:util';
import type { Job } from './job.js';

/**
 * Whether registering `next` over `stored` creates a new version (API-106). Status, indexes, version, stability, submit
 * time, version tag, the submitter's token and server-maintained members of scaling policies do not count.
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

/** Returns the policy without the members that the server maintains. */
export function scalingSpecification(policy: ScalingPolicy): ScalingPolicy {
  return { ...policy, ID: '', CreateIndex: 0, ModifyIndex: 0 };
}
