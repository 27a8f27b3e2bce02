import {
  type Allocation,
  isBatchJob,
  isClientTerminal,
  isParameterized,
  isPeriodic,
  isServerTerminal,
  type Job,
  newEvaluation,
  NS_PER_SECOND,
  nsFromMs,
} from '@waybill/model';
import { schedule, schedulerTypeFor } from '@waybill/scheduler';
import { type Applied, namespacedKey, type Tables } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import { SeededRandom } from '../kernel/seeded-random.js';
import { JOBS } from '../workload/job-shapes.js';
import { isRestore, presentHistory } from './restores.js';
import { InvariantError } from './violation.js';

/** A holder's clock may be behind by this; what became due since then need not have been seen. */
const CLOCKS_APART_NS = 20 * NS_PER_SECOND;

/**
 * At rest, evaluating any job once more places nothing (SC-340): whatever could be placed has been. An evaluation that
 * was lost, a freed node that woke nobody, a deployment nobody moves on: all show here.
 * @throws InvariantError
 */
export function expectNothingLeftToDo({ tables, simulator, reference }: Cluster): void {
  const newId = new SeededRandom('evaluated once more').uuid;
  const heldBack = jobsOfCollectedFailures(reference.applied, tables);
  const gone = JOBS.filter(([id]) => !tables.jobs.has(namespacedKey('default', id)));
  const known = [...tables.jobs.all()].filter((job) => !isPeriodic(job) && !isParameterized(job));
  for (const [JobID, Type] of [...gone, ...known.map((job) => [job.ID, job.Type] as const)]) {
    if (heldBack.has(JobID) || isHalfCollected(tables, JobID)) continue;
    const evaluation = newEvaluation({
      ID: newId(),
      Namespace: 'default',
      Priority: 50,
      Type,
      TriggeredBy: 'job-register',
      JobID,
      CreateTime: nsFromMs(simulator.nowMs),
    });
    const index = reference.machine.appliedIndex;
    const nowNs = nsFromMs(simulator.nowMs) - CLOCKS_APART_NS;
    const { plan } = schedule(schedulerTypeFor(evaluation, tables), {
      evaluation,
      tables,
      index,
      nowNs,
      newId,
    });
    for (const { DeploymentID, Status } of plan.DeploymentUpdates) {
      // Nobody looks at one that somebody paused, until it goes on.
      if (tables.deployment.get(DeploymentID)?.Status === 'paused') continue;
      throw new InvariantError('nothing-left-to-do', `job ${JobID}, evaluated once more: ${DeploymentID} is ${Status}`);
    }
    const stopped = namesStoppedForGood(tables, JobID);
    const isDue = dueOn(Type, () => nodesOfPast(reference.applied, tables, JobID));
    const placed = Object.values(plan.NodeAllocation)
      .flat()
      .filter((alloc) => !tables.allocs.has(alloc.ID) && isDue(alloc))
      .filter(({ Name }) => !stopped.has(Name));
    if (placed.length === 0) continue;
    const changes = placed.map(({ Name, NodeName }) => `place ${Name} on ${NodeName}`);
    throw new InvariantError('nothing-left-to-do', `job ${JobID}, evaluated once more: ${changes.join(', ')}`);
  }
}

/**
 * A batch job that is over is collected in two steps, its evaluations and allocations before itself (GC-41). Whoever is cut
 * off between them leaves a job that remembers nothing, for the next pass of housekeeping.
 */
function isHalfCollected(tables: Tables, jobId: string): boolean {
  const key = namespacedKey('default', jobId);
  const job = tables.jobs.get(key);
  return job !== undefined && isBatchJob(job) && job.Status === 'dead' && tables.allocs.count('job', key) === 0;
}

/** Whether an allocation that could be placed on a node shows that something was forgotten. */
function dueOn(type: string, past: () => NodesOfPast): (alloc: Allocation) => boolean {
  if (type !== 'system' && type !== 'sysbatch') return () => true;
  const { ended, done } = past();
  // A node that comes back starts no sysbatch job (ND-98), but none does again what it has done.
  return ({ NodeID }) => (type === 'system' ? !ended.has(NodeID) : done.has(NodeID));
}

interface NodesOfPast {
  readonly ended: ReadonlySet<string>;
  readonly done: ReadonlySet<string>;
}

/**
 * The nodes where an allocation of the job has ended, collected or not: one of a system job is replaced by the next
 * evaluation, whenever it comes, and none is made for it. And those where the present version of the job is done.
 */
function nodesOfPast(log: readonly Applied[], tables: Tables, jobId: string): NodesOfPast {
  const key = namespacedKey('default', jobId);
  const ended = new Set<string>();
  const done = new Set<string>();
  const job = tables.jobs.get(key);
  const note = (alloc: Allocation): void => {
    ended.add(alloc.NodeID);
    if (!isOf(alloc, job)) return;
    if (alloc.ClientStatus === 'complete' && !isServerTerminal(alloc)) done.add(alloc.NodeID);
  };
  for (const alloc of tables.allocs.by('job', key)) if (isClientTerminal(alloc)) note(alloc);
  for (const applied of presentHistory(log)) {
    if (isRestore(applied)) continue; // what it takes away, a state says that is no more
    for (const { table, before, after } of applied.changes)
      if (table === 'allocs' && !after && before?.JobID === jobId && isOf(before, job)) note(before);
  }
  return { ended, done };
}

const isOf = (alloc: Allocation, job: Job | undefined): boolean =>
  alloc.Job?.CreateIndex === job?.CreateIndex && alloc.Job?.Version === job?.Version;

/**
 * Of a batch job, what was stopped to be rescheduled and had no try left is not replaced (SC-231), nor what a drain stopped
 * at its deadline (SC-229); the next evaluation does not see it any more, if it is of an older version (SC-156), and fills its
 * place.
 */
function namesStoppedForGood(tables: Tables, jobId: string): Set<string> {
  const stopped = [...tables.allocs.by('job', namespacedKey('default', jobId))].filter(
    (alloc) => alloc.Job?.Type === 'batch' && isServerTerminal(alloc) && isStoppedForGood(alloc.DesiredTransition),
  );
  return new Set(stopped.map(({ Name }) => Name));
}

const isStoppedForGood = ({ Reschedule, MigrateDisablePlacement }: Allocation['DesiredTransition']): boolean =>
  Reschedule === true || MigrateDisablePlacement === true;

/**
 * A deployment that failed holds its version back (SC-234); once it is collected (GC-53), the next evaluation, whenever it
 * comes, begins anew.
 */
function jobsOfCollectedFailures(log: readonly Applied[], tables: Tables): Set<string> {
  const jobs = new Set<string>();
  for (const { changes } of presentHistory(log))
    for (const { table, before, after } of changes) {
      if (table !== 'deployment' || after || before?.Status !== 'failed') continue;
      const job = tables.jobs.get(namespacedKey(before.Namespace, before.JobID));
      if (job?.Version === before.JobVersion && job.CreateIndex === before.JobCreateIndex) jobs.add(job.ID);
    }
  return jobs;
}
