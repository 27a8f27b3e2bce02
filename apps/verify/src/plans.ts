import { isTerminalAllocation, type Allocation } from '@waybill/model';
import { namespacedKey, type Applied, type Tables } from '@waybill/state';
import { isRestore, type Invariant, type ReportViolation } from './invariant.js';

/**
 * As far as the log shows it, a plan counts only within a delivery of its evaluation (EB-327): it was written by a holder
 * of the role broker. That the evaluation had not ended cannot be asked: one that ended on the side while it was held, or
 * whose end the worker was not told of, is run once more (EB-337). A transaction does not name the delivery it belongs
 * to; that a second delivery repeats nothing is what `NoDoublePlacement` looks at.
 */
export class AcceptedPlans implements Invariant {
  after({ txn, index, verdict }: Applied, _tables: Tables, report: ReportViolation): void {
    if (txn.type !== 'ApplyPlanResults' || verdict.kind !== 'accepted' || txn.fence?.role === 'broker') return;
    report({
      invariant: 'accepted-plan',
      index,
      subject: `evaluation ${txn.payload.EvalID}`,
      message: 'a plan counted that no holder of the role broker wrote',
    });
  }
}

/** The allocations that one plan placed for one job. */
interface PlacedForJob {
  /** Namespace and ID. */
  readonly job: string;
  readonly placed: ReadonlySet<string>;
  /** Of the plan. */
  readonly index: number;
}

/**
 * No second delivery repeats what the first one placed (EB-329): a new allocation of a service or batch job has no twin, a
 * live one of the same name that was placed for the same version of the job and is to run on. Canaries share names on
 * purpose, keep them when they are promoted (SC-331), and leave them to what replaces them (SC-229); one whose node is away (`unknown`) may be replaced, and one
 * that is to migrate may outlive its replacement's placement: a plan that is committed in part can lack the stop
 * (EB-244). Cost: the allocations of the jobs that got new ones. Memory: one entry per allocation.
 */
export class NoDoublePlacement implements Invariant {
  /** Name and version of the job that each allocation but a canary was placed for; an update in place takes it to a later one. */
  private readonly placedAs = new Map<string, string>();
  /** Canaries, and what has come in their places. */
  private readonly shareNames = new Set<string>();

  after(applied: Applied, tables: Tables, report: ReportViolation): void {
    if (isRestore(applied)) return;
    const { txn, index, changes } = applied;
    const placedByJob = new Map<string, Set<string>>();
    for (const change of changes) {
      if (change.table !== 'allocs') continue;
      const { before, after } = change;
      if (!after) {
        this.placedAs.delete(change.key);
        this.shareNames.delete(change.key);
      }
      if (before || !after) continue;
      if (after.DeploymentStatus?.Canary === true || this.shareNames.has(after.PreviousAllocation)) {
        this.shareNames.add(after.ID);
        continue;
      }
      this.placedAs.set(after.ID, `${after.Job?.CreateIndex}@${after.Job?.Version} ${after.Name}`);
      if (txn.type !== 'ApplyPlanResults' || !mayHaveNoTwin(after)) continue;
      const key = namespacedKey(after.Namespace, after.JobID);
      const placed = placedByJob.get(key) ?? new Set();
      placedByJob.set(key, placed.add(after.ID));
    }
    for (const [job, placed] of placedByJob) this.expectNoTwins({ job, placed, index }, tables, report);
  }

  private expectNoTwins({ job, placed, index }: PlacedForJob, tables: Tables, report: ReportViolation): void {
    const byPlacement = new Map<string, string>();
    for (const alloc of tables.allocs.by('live', job)) {
      const placement = this.placedAs.get(alloc.ID);
      if (placement === undefined || !mayHaveNoTwin(alloc)) continue;
      const twin = byPlacement.get(placement);
      byPlacement.set(placement, alloc.ID);
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

function mayHaveNoTwin(alloc: Allocation): boolean {
  const type = alloc.Job?.Type;
  if (type !== 'service' && type !== 'batch') return false;
  if (isTerminalAllocation(alloc) || alloc.ClientStatus === 'unknown') return false;
  return alloc.DesiredTransition.Migrate !== true;
}
