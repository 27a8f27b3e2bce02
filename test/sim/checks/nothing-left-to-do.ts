import {
  isClientTerminal,
  isParameterized,
  isPeriodic,
  isServerTerminal,
  newEvaluation,
  NS_PER_SECOND,
  nsFromMs,
} from '@waybill/model';
import { schedule, schedulerTypeFor } from '@waybill/scheduler';
import { type Applied, namespacedKey, SINGLETON_KEY, type Tables } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import { SeededRandom } from '../kernel/seeded-random.js';
import { JOBS } from '../workload/job-shapes.js';
import { presentHistory } from './restores.js';
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
    if (Type === 'sysbatch') continue; // a node that comes back starts none: a finished one must not run again (ND-98)
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
    for (const { DeploymentID, Status } of plan.DeploymentUpdates)
      throw new InvariantError('nothing-left-to-do', `job ${JobID}, evaluated once more: ${DeploymentID} is ${Status}`);
    const stopped = new Set([...namesStoppedForGood(tables, JobID), ...namesEndedByPastOrder(tables, JobID)]);
    const endedOn = Type === 'system' ? nodesWhereItEnded(reference.applied, tables, JobID) : new Set<string>();
    const placed = Object.values(plan.NodeAllocation)
      .flat()
      .filter(({ ID, NodeID }) => !tables.allocs.has(ID) && !endedOn.has(NodeID))
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
  return job?.Type === 'batch' && job.Status === 'dead' && [...tables.allocs.by('job', key)].length === 0;
}

/**
 * An allocation of a system job that ended is replaced by the next evaluation, whenever it comes; none is made for it. It may
 * be collected before.
 */
function nodesWhereItEnded(log: readonly Applied[], tables: Tables, jobId: string): Set<string> {
  const key = namespacedKey('default', jobId);
  const nodes = new Set<string>();
  for (const alloc of tables.allocs.by('job', key)) if (isClientTerminal(alloc)) nodes.add(alloc.NodeID);
  const job = tables.jobs.get(key);
  for (const { changes } of presentHistory(log))
    for (const { table, before, after } of changes) {
      if (table !== 'allocs' || after || before?.JobID !== jobId) continue;
      if (before.Job?.CreateIndex === job?.CreateIndex && before.Job?.Version === job?.Version)
        nodes.add(before.NodeID);
    }
  return nodes;
}

/**
 * Of a batch job, what was stopped to be rescheduled and had no try left is not replaced (SC-231); the next evaluation,
 * whenever it comes, does not see it any more (SC-156) and fills its place.
 */
function namesStoppedForGood(tables: Tables, jobId: string): Set<string> {
  const stopped = [...tables.allocs.by('job', namespacedKey('default', jobId))].filter(
    (alloc) => alloc.Job?.Type === 'batch' && isServerTerminal(alloc) && alloc.DesiredTransition.Reschedule === true,
  );
  return new Set(stopped.map(({ Name }) => Name));
}

/**
 * A machine that has not heard of a restore yet carries out what it was told before: an allocation of a service that runs
 * again by the restored state ends as it was to (OP-47), and no evaluation is made for that (ND-131).
 */
function namesEndedByPastOrder(tables: Tables, jobId: string): string[] {
  if (!tables.cluster_meta.get(SINGLETON_KEY)?.RestoredIndex) return [];
  const allocs = [...tables.allocs.by('job', namespacedKey('default', jobId))];
  const ended = allocs.filter((alloc) => alloc.Job?.Type === 'service' && alloc.ClientStatus === 'complete');
  return ended.filter((alloc) => !isServerTerminal(alloc)).map(({ Name }) => Name);
}

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
