import { isParameterized, type Job, type JobListStub, type JobSummary } from '../jobs/job.js';
import type { TaskGroup } from '../jobs/task-group.js';
import { encodeNetworks, encodeResources, type WireObject } from './wire-object.js';

/** Encodes a job for clients: every field is present, and its networks lose their zero members (API-17). */
export function encodeJob(job: Job): WireObject {
  return { ...job, TaskGroups: job.TaskGroups.map(encodeTaskGroup) };
}

function encodeTaskGroup(group: TaskGroup): WireObject {
  return {
    ...group,
    Networks: encodeNetworks(group.Networks),
    Tasks: group.Tasks.map((task) => ({ ...task, Resources: encodeResources(task.Resources) })),
  };
}

/** Encodes a job for the list, with `Meta` only on request. A job without a summary gets an empty one, never null. */
export function encodeJobStub(job: Job, summary: JobSummary | null, options: { meta?: boolean } = {}): JobListStub {
  return {
    ID: job.ID,
    ParentID: job.ParentID,
    Name: job.Name,
    ...(job.Namespace === '' ? {} : { Namespace: job.Namespace }),
    Datacenters: job.Datacenters,
    NodePool: job.NodePool,
    Multiregion: job.Multiregion,
    Type: job.Type,
    Priority: job.Priority,
    Periodic: job.Periodic !== null,
    ParameterizedJob: isParameterized(job),
    Stop: job.Stop,
    Status: job.Status,
    StatusDescription: job.StatusDescription,
    JobSummary: encodeJobSummary(summary ?? emptySummary(job)),
    CreateIndex: job.CreateIndex,
    ModifyIndex: job.ModifyIndex,
    JobModifyIndex: job.JobModifyIndex,
    SubmitTime: job.SubmitTime,
    ...(options.meta === true ? { Meta: job.Meta } : {}),
  };
}

/**
 * Encodes a summary for clients: every job has an object `Children`, and a job that only has children has no groups.
 * Only such a job is stored with counters of children.
 */
export function encodeJobSummary(summary: JobSummary): JobSummary {
  if (summary.Children === null) return { ...summary, Children: { Pending: 0, Running: 0, Dead: 0 } };
  return { ...summary, Summary: {} };
}

function emptySummary(job: Job): JobSummary {
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    Summary: {},
    Children: null,
    CreateIndex: job.CreateIndex,
    ModifyIndex: job.ModifyIndex,
  };
}
