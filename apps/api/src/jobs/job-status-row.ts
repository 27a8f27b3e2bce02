import { type Deployment, hasAutoPromote, isActiveDeployment, requiresPromotion } from '@waybill/model';
import type { JobWithStatus, StatusAllocation } from '@waybill/projection';

/** The key in a job's meta that tools for packs set. */
const PACK_NAME = 'pack.name';

/** Returns a job in its form for the overview of all jobs (API-185). */
export function jobStatusRow({ job, allocs, latestDeployment, childStatuses }: JobWithStatus): object {
  return {
    ID: job.ID,
    Namespace: job.Namespace,
    Name: job.Name,
    Type: job.Type,
    NodePool: job.NodePool,
    Datacenters: job.Datacenters,
    Priority: job.Priority,
    Version: job.Version,
    SubmitTime: job.SubmitTime,
    ModifyIndex: job.ModifyIndex,
    Allocs: allocs.map(allocRow),
    GroupCountSum: job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0),
    ChildStatuses: childStatuses ?? null,
    ParentID: job.ParentID,
    LatestDeployment: latestDeployment ? deploymentRow(latestDeployment) : null,
    Stop: job.Stop,
    IsPack: job.Meta !== null && Object.hasOwn(job.Meta, PACK_NAME),
    Status: job.Status,
  };
}

const allocRow = ({ alloc, jobVersion }: StatusAllocation): object => ({
  ID: alloc.ID,
  Group: alloc.TaskGroup,
  ClientStatus: alloc.ClientStatus,
  NodeID: alloc.NodeID,
  DeploymentStatus: {
    Canary: alloc.DeploymentStatus?.Canary ?? false,
    Healthy: alloc.DeploymentStatus?.Healthy ?? null,
  },
  JobVersion: jobVersion,
  FollowupEvalID: alloc.FollowupEvalID,
  HasPausedTask: Object.values(alloc.TaskStates ?? {}).some(({ Paused }) => Paused !== ''),
});

const deploymentRow = (deployment: Deployment): object => ({
  ID: deployment.ID,
  IsActive: isActiveDeployment(deployment),
  JobVersion: deployment.JobVersion,
  Status: deployment.Status,
  StatusDescription: deployment.StatusDescription,
  AllAutoPromote: hasAutoPromote(deployment),
  RequiresPromotion: requiresPromotion(deployment),
});

/** Returns an index that is higher after any change of the rows. It is at least 1. */
export function jobStatusIndex(rows: readonly JobWithStatus[]): number {
  const indexes = rows.flatMap(({ job, allocs, latestDeployment, childrenIndex }) => [
    job.ModifyIndex,
    childrenIndex,
    latestDeployment?.ModifyIndex ?? 0,
    ...allocs.map(({ alloc }) => alloc.ModifyIndex),
  ]);
  return indexes.reduce((highest, index) => Math.max(highest, index), 1);
}
