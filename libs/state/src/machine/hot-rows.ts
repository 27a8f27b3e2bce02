import type { Allocation, Job, JobStatus, JobSummary, Node, TaskGroupSummary } from '@waybill/model';

/*
 * Copies of the rows that every evaluation, every placement and every report of an agent writes, member by member. A
 * literal is copied some fifteen times faster than a spread of forty members, and these transactions are most of the log.
 * The compiler misses no member: each result type requires all of them.
 */

type ReportedMembers = Pick<
  Allocation,
  | 'ClientStatus'
  | 'ClientDescription'
  | 'TaskStates'
  | 'NetworkStatus'
  | 'DeploymentStatus'
  | 'FollowupEvalID'
  | 'ModifyIndex'
  | 'ModifyTime'
>;

/** The allocation with its agent's report (ST-101). */
export function withReport(alloc: Allocation, report: ReportedMembers): Allocation {
  const copy = copyOfAllocation(alloc);
  copy.ClientStatus = report.ClientStatus;
  copy.ClientDescription = report.ClientDescription;
  copy.TaskStates = report.TaskStates;
  copy.NetworkStatus = report.NetworkStatus;
  copy.DeploymentStatus = report.DeploymentStatus;
  copy.FollowupEvalID = report.FollowupEvalID;
  copy.ModifyIndex = report.ModifyIndex;
  copy.ModifyTime = report.ModifyTime;
  return copy;
}

/** A copy of the allocation whose own members may be changed. */
export function copyOfAllocation(alloc: Allocation): Allocation {
  return {
    ID: alloc.ID,
    EvalID: alloc.EvalID,
    Namespace: alloc.Namespace,
    JobID: alloc.JobID,
    TaskGroup: alloc.TaskGroup,
    Name: alloc.Name,
    NodeID: alloc.NodeID,
    NodeName: alloc.NodeName,
    Job: alloc.Job,
    Resources: alloc.Resources,
    SharedResources: alloc.SharedResources,
    TaskResources: alloc.TaskResources,
    AllocatedResources: alloc.AllocatedResources,
    Metrics: alloc.Metrics,
    DesiredStatus: alloc.DesiredStatus,
    DesiredDescription: alloc.DesiredDescription,
    DesiredTransition: alloc.DesiredTransition,
    ClientStatus: alloc.ClientStatus,
    ClientDescription: alloc.ClientDescription,
    TaskStates: alloc.TaskStates,
    AllocStates: alloc.AllocStates,
    PreviousAllocation: alloc.PreviousAllocation,
    NextAllocation: alloc.NextAllocation,
    DeploymentID: alloc.DeploymentID,
    DeploymentStatus: alloc.DeploymentStatus,
    RescheduleTracker: alloc.RescheduleTracker,
    NetworkStatus: alloc.NetworkStatus,
    FollowupEvalID: alloc.FollowupEvalID,
    PreemptedAllocations: alloc.PreemptedAllocations,
    PreemptedByAllocation: alloc.PreemptedByAllocation,
    SigningKeyID: alloc.SigningKeyID,
    CreateIndex: alloc.CreateIndex,
    ModifyIndex: alloc.ModifyIndex,
    AllocModifyIndex: alloc.AllocModifyIndex,
    CreateTime: alloc.CreateTime,
    ModifyTime: alloc.ModifyTime,
  };
}

/** The node with the index of its last allocation report (ST-108). */
export function withAllocUpdateIndex(node: Node, index: number): Node {
  return {
    ID: node.ID,
    SecretID: node.SecretID,
    Datacenter: node.Datacenter,
    Name: node.Name,
    NodeClass: node.NodeClass,
    NodePool: node.NodePool,
    HTTPAddr: node.HTTPAddr,
    TLSEnabled: node.TLSEnabled,
    CgroupParent: node.CgroupParent,
    Attributes: node.Attributes,
    NodeResources: node.NodeResources,
    ReservedResources: node.ReservedResources,
    Links: node.Links,
    Meta: node.Meta,
    ComputedClass: node.ComputedClass,
    DrainStrategy: node.DrainStrategy,
    SchedulingEligibility: node.SchedulingEligibility,
    Status: node.Status,
    StatusDescription: node.StatusDescription,
    StatusUpdatedAt: node.StatusUpdatedAt,
    IdentitySigningKeyID: node.IdentitySigningKeyID,
    Events: node.Events,
    Drivers: node.Drivers,
    CSIControllerPlugins: node.CSIControllerPlugins,
    CSINodePlugins: node.CSINodePlugins,
    HostVolumes: node.HostVolumes,
    GCVolumesOnNodeGC: node.GCVolumesOnNodeGC,
    HostNetworks: node.HostNetworks,
    LastDrain: node.LastDrain,
    NodeMaxAllocs: node.NodeMaxAllocs,
    LastMissedHeartbeatIndex: node.LastMissedHeartbeatIndex,
    LastAllocUpdateIndex: index,
    CreateIndex: node.CreateIndex,
    ModifyIndex: node.ModifyIndex,
  };
}

/** The job with another status (ST-74). */
export function withStatus(job: Job, status: JobStatus, index: number): Job {
  return {
    ID: job.ID,
    Name: job.Name,
    Namespace: job.Namespace,
    Region: job.Region,
    ParentID: job.ParentID,
    Type: job.Type,
    Priority: job.Priority,
    AllAtOnce: job.AllAtOnce,
    Datacenters: job.Datacenters,
    NodePool: job.NodePool,
    Constraints: job.Constraints,
    Affinities: job.Affinities,
    Spreads: job.Spreads,
    TaskGroups: job.TaskGroups,
    Update: job.Update,
    Multiregion: job.Multiregion,
    Periodic: job.Periodic,
    ParameterizedJob: job.ParameterizedJob,
    Dispatched: job.Dispatched,
    DispatchIdempotencyToken: job.DispatchIdempotencyToken,
    Payload: job.Payload,
    Meta: job.Meta,
    ConsulNamespace: job.ConsulNamespace,
    VaultNamespace: job.VaultNamespace,
    NomadTokenID: job.NomadTokenID,
    Status: status,
    StatusDescription: job.StatusDescription,
    Stop: job.Stop,
    Stable: job.Stable,
    Version: job.Version,
    SubmitTime: job.SubmitTime,
    CreateIndex: job.CreateIndex,
    ModifyIndex: index,
    JobModifyIndex: job.JobModifyIndex,
    UI: job.UI,
    VersionTag: job.VersionTag,
  };
}

/** A copy of the counters that may be changed. */
export function copyOfCounters(counters: TaskGroupSummary): TaskGroupSummary {
  return {
    Queued: counters.Queued,
    Complete: counters.Complete,
    Failed: counters.Failed,
    Running: counters.Running,
    Starting: counters.Starting,
    Lost: counters.Lost,
    Unknown: counters.Unknown,
  };
}

/** The summary with other groups. */
export function withGroups(summary: JobSummary, groups: JobSummary['Summary'], index: number): JobSummary {
  return {
    JobID: summary.JobID,
    Namespace: summary.Namespace,
    Summary: groups,
    Children: summary.Children,
    CreateIndex: summary.CreateIndex,
    ModifyIndex: index,
  };
}
