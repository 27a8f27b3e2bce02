import { isTerminalAllocation, isTerminalEvaluation, type Allocation } from '@waybill/model';
import { namespacedKey, type Applied, type Tables } from '@waybill/state';
import type { Invariant, ReportViolation } from './invariant.js';

/**
 * As far as the log shows it, a plan counts only within a delivery of its evaluation (EB-327): it was written by a holder
 * of the role broker, and its evaluation had not been ended by an update of its own. One that ended on the side, with its
 * job's purge or by another's success, while it was held is run all the same (EB-337). A transaction does not name the
 * delivery it belongs to; that a second delivery repeats nothing is what `NoDoublePlacement` looks at.
 */
export class AcceptedPlans implements Invariant {
  private readonly ended = new Set<string>();

  after({ txn, index, verdict }: Applied, _tables: Tables, report: ReportViolation): void {
    if (txn.type === 'ApplyPlanResults' && verdict.kind === 'accepted') {
      const { EvalID } = txn.payload;
      const say = (message: string) =>
        report({ invariant: 'accepted-plan', index, subject: `evaluation ${EvalID}`, message });
      if (txn.fence?.role !== 'broker') say('a plan counted that no holder of the role broker wrote');
      if (this.ended.has(EvalID)) say('a plan counted after its evaluation had ended');
    }
    if (txn.type !== 'EvalUpdate' || verdict.kind !== 'accepted') return;
    for (const evaluation of txn.payload.Evals) if (isTerminalEvaluation(evaluation)) this.ended.add(evaluation.ID);
  }
}

/**
 * No second delivery repeats what the first one placed (EB-329): a new allocation of a service or batch job has no twin, a
 * live one of the same job, version and name that is to run on. Canaries share names on purpose, one whose node is away
 * (`unknown`) may be replaced, and one that is to migrate may outlive its replacement's placement: a plan that is
 * committed in part can lack the stop (EB-244). Cost: the allocations of the jobs that got new ones.
 */
export class NoDoublePlacement implements Invariant {
  after({ txn, index, changes }: Applied, tables: Tables, report: ReportViolation): void {
    if (txn.type !== 'ApplyPlanResults') return;
    const placedByJob = new Map<string, Map<string, Allocation>>();
    for (const change of changes) {
      if (change.table !== 'allocs' || change.before || !change.after || !mayHaveNoTwin(change.after)) continue;
      const key = namespacedKey(change.after.Namespace, change.after.JobID);
      let placed = placedByJob.get(key);
      if (!placed) placedByJob.set(key, (placed = new Map<string, Allocation>()));
      placed.set(change.after.ID, change.after);
    }
    for (const [job, placed] of placedByJob) {
      const byName = new Map<string, string>();
      for (const alloc of tables.allocs.by('live', job)) {
        if (!mayHaveNoTwin(alloc)) continue;
        const name = `${alloc.Job?.CreateIndex}@${alloc.Job?.Version} ${alloc.Name}`;
        const twin = byName.get(name);
        byName.set(name, alloc.ID);
        if (twin === undefined || !(placed.has(alloc.ID) || placed.has(twin))) continue;
        report({
          invariant: 'no-double-placement',
          index,
          subject: `job ${job}`,
          message: `${alloc.Name} runs twice: allocations ${twin} and ${alloc.ID}`,
        });
      }
    }
  }
}

function mayHaveNoTwin(alloc: Allocation): boolean {
  const type = alloc.Job?.Type;
  if (type !== 'service' && type !== 'batch') return false;
  if (isTerminalAllocation(alloc) || alloc.ClientStatus === 'unknown') return false;
  if (alloc.DesiredTransition.Migrate === true) return false;
  return alloc.DeploymentStatus?.Canary !== true;
}
