import {
  isServerTerminal,
  type AllocDeploymentStatus,
  type AllocPreemptionDiff,
  type Allocation,
  type AllocStopDiff,
  type Job,
  Refusal,
} from '@waybill/model';
import { dropServicesIfEnded } from './alloc-services.js';
import type { TxnPayloads } from '../log/catalogue.js';
import { DeploymentCounts } from '../deployments/deployment-counters.js';
import { copyOfAllocation } from '../machine/hot-rows.js';
import { activeRootKey } from '../keyring/root-keys.js';
import { AllocationCounts } from '../jobs/job-summary.js';
import type { Write } from '../machine/write.js';

type PlanPayload = TxnPayloads['ApplyPlanResults'];

/**
 * Writes the plan's allocations: updated, then stopped, then preempted ones (ST-112). Returns the keys of their jobs.
 */
export function applyPlanAllocations(w: Write, plan: PlanPayload): Set<string> {
  const jobs = new Set<string>();
  const counts = new AllocationCounts(w);
  const deployments = new DeploymentCounts(w);
  const write = (before: Allocation | undefined, after: Allocation) => {
    deployments.count(before, after);
    counts.count(before, after);
    jobs.add(counts.jobOf(after));
    w.put('allocs', after);
    dropServicesIfEnded(w, after);
  };
  for (const planned of plan.AllocsUpdated) {
    const stored = w.tables.allocs.get(planned.ID);
    const after = stored ? replanned(w, stored, planned, plan) : placed(w, planned, plan, counts.jobOf(planned));
    if (!after) continue;
    write(stored, after);
    if (!stored) linkReplacement(w, after);
  }
  for (const diff of plan.AllocsStopped) {
    const stored = storedAlloc(w, diff.ID);
    write(stored, stopped(w, stored, diff, plan));
  }
  for (const diff of plan.AllocsPreempted) {
    const stored = storedAlloc(w, diff.ID);
    write(stored, preempted(w, stored, diff, plan));
  }
  counts.put();
  deployments.put();
  return jobs;
}

/**
 * A new allocation (ST-117); undefined if its job was deleted or stopped meanwhile. The active root key at this moment
 * signs its identities, whenever they are made (AU-135, AU-137).
 */
function placed(w: Write, planned: Allocation, plan: PlanPayload, jobKey: string): Allocation | undefined {
  const job = jobOf(planned, plan);
  if (!job) throw new Refusal('conflict', `attempting to upsert allocation "${planned.ID}" without a job`);
  const stored = w.tables.jobs.get(jobKey);
  if (!stored || stored.Stop) return undefined;
  const row = copyOfAllocation(planned);
  row.Job = job;
  row.SigningKeyID = activeRootKey(w.tables)?.KeyID ?? '';
  row.DeploymentStatus = planned.DeploymentStatus && { ...planned.DeploymentStatus, ModifyIndex: w.index };
  row.CreateTime = planned.CreateTime || plan.UpdatedAt;
  row.ModifyTime = plan.UpdatedAt;
  row.CreateIndex = w.index;
  row.ModifyIndex = w.index;
  row.AllocModifyIndex = w.index;
  return row;
}

/** The job version of an allocation: its own if it carries one, else the plan's. Equal versions share one object. */
function jobOf(planned: Allocation, { Job: job }: PlanPayload): Job | null {
  const own = planned.Job;
  if (!own) return job;
  const isSame =
    job?.Version === own.Version &&
    job.CreateIndex === own.CreateIndex &&
    job.ID === own.ID &&
    job.Namespace === own.Namespace &&
    job.ModifyIndex === own.ModifyIndex;
  return isSame ? job : own;
}

/**
 * A stored allocation with the changes that a plan may make (ST-118). Changes by others since the plan's snapshot stay,
 * because the plan carries only what it read of them.
 */
function replanned(w: Write, stored: Allocation, planned: Allocation, plan: PlanPayload): Allocation {
  const isGivenUp = givesUp(planned) && !isCarriedOver(stored, planned);
  return {
    ...planned,
    ...(isServerTerminal(stored) && endOf(stored)),
    DesiredTransition: stored.DesiredTransition,
    Job: planned.Job ? jobOf(planned, plan) : stored.Job,
    SigningKeyID: stored.SigningKeyID || (activeRootKey(w.tables)?.KeyID ?? ''),
    TaskStates: stored.TaskStates,
    NetworkStatus: stored.NetworkStatus,
    ClientStatus: isGivenUp ? planned.ClientStatus : stored.ClientStatus,
    ClientDescription: isGivenUp ? planned.ClientDescription : stored.ClientDescription,
    // An evaluation that is stored already was named before; the field is cleared when the allocation reports (ST-106).
    FollowupEvalID: w.tables.evals.has(planned.FollowupEvalID) ? stored.FollowupEvalID : planned.FollowupEvalID,
    NextAllocation: stored.NextAllocation || planned.NextAllocation,
    DeploymentStatus: replannedHealth(w, stored, planned),
    CreateTime: stored.CreateTime,
    ModifyTime: plan.UpdatedAt,
    CreateIndex: stored.CreateIndex,
    ModifyIndex: w.index,
    AllocModifyIndex: w.index,
  };
}

const givesUp = ({ ClientStatus }: Allocation): boolean => ClientStatus === 'lost' || ClientStatus === 'unknown';

/** Whether an earlier plan set the status: then this plan adds no entry to the allocation's states (ST-110). */
function isCarriedOver({ AllocStates: stored }: Allocation, { AllocStates, ClientStatus }: Allocation): boolean {
  return AllocStates.length === stored.length && AllocStates.at(-1)?.Value === ClientStatus;
}

/**
 * How the server ended it. An allocation that was evicted for another job stays evicted, whatever the plan of its own
 * job says.
 */
function endOf(stored: Allocation): Pick<Allocation, 'DesiredStatus' | 'DesiredDescription' | 'PreemptedByAllocation'> {
  const { DesiredStatus, DesiredDescription, PreemptedByAllocation } = stored;
  return { DesiredStatus, DesiredDescription, PreemptedByAllocation };
}

/**
 * Health and canary flag, which a plan does not change while the deployment stays, so that an older snapshot resets
 * nothing.
 */
function replannedHealth(w: Write, stored: Allocation, planned: Allocation): AllocDeploymentStatus | null {
  if (stored.DeploymentStatus && planned.DeploymentID === stored.DeploymentID) return stored.DeploymentStatus;
  return planned.DeploymentStatus && { ...planned.DeploymentStatus, ModifyIndex: w.index };
}

function storedAlloc(w: Write, id: string): Allocation {
  const stored = w.tables.allocs.get(id);
  if (!stored) throw new Refusal('not-found', `alloc ${id} doesn't exist`);
  return stored;
}

/** The stopped allocation; fields that the diff does not carry stay (ST-118). */
function stopped(w: Write, stored: Allocation, diff: AllocStopDiff, plan: PlanPayload): Allocation {
  return {
    ...stored,
    DesiredStatus: 'stop',
    DesiredDescription: diff.DesiredDescription,
    ClientStatus: diff.ClientStatus || stored.ClientStatus,
    FollowupEvalID: diff.FollowupEvalID || stored.FollowupEvalID,
    RescheduleTracker: diff.RescheduleTracker === undefined ? stored.RescheduleTracker : diff.RescheduleTracker,
    AllocStates: diff.AllocStates?.length ? [...stored.AllocStates, ...diff.AllocStates] : stored.AllocStates,
    ModifyTime: plan.UpdatedAt,
    ModifyIndex: w.index,
    AllocModifyIndex: w.index,
  };
}

function preempted(w: Write, stored: Allocation, diff: AllocPreemptionDiff, plan: PlanPayload): Allocation {
  return {
    ...stored,
    DesiredStatus: 'evict',
    DesiredDescription: `Preempted by alloc ID ${diff.PreemptedByAllocation}`,
    PreemptedByAllocation: diff.PreemptedByAllocation,
    ModifyTime: plan.UpdatedAt,
    ModifyIndex: w.index,
    AllocModifyIndex: w.index,
  };
}

/** Sets `NextAllocation` of the allocation that the new one replaces (ST-121). */
function linkReplacement(w: Write, replacement: Allocation): void {
  const previous = replacement.PreviousAllocation && w.tables.allocs.get(replacement.PreviousAllocation);
  if (previous) w.put('allocs', { ...previous, NextAllocation: replacement.ID, ModifyIndex: w.index });
}
