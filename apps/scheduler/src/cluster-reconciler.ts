import {
  findTaskGroup,
  isClientTerminal,
  isServerTerminal,
  newEvaluation,
  NS_PER_SECOND,
  ranSuccessfully,
  rfc3339FromNs,
  type Allocation,
  type DesiredUpdates,
  type Evaluation,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { bucketOf, isFromOlderJob, isLive, lostStop, type TaintedNodes } from './classification.js';
import { DELAYED_RESCHEDULE, MIGRATING, NOT_NEEDED, RESCHEDULED } from './descriptions.js';
import { indexIn, NameIndex } from './name-index.js';
import type { StopOrder } from './plan-draft.js';
import { rescheduleTime } from './reschedule-policy.js';

/** A failed allocation that is due within this time is rescheduled now (SC-171). */
export const RESCHEDULE_NOW_NS = NS_PER_SECOND;
/** Delayed reschedules this close together share one follow-up evaluation (SC-174). */
export const FOLLOW_UP_WINDOW_NS = 5 * NS_PER_SECOND;

/** One allocation to be made. */
export interface Placement {
  readonly name: string;
  readonly group: TaskGroup;
  readonly previous: Allocation | undefined;
  /** The previous one failed: its tracker goes on, and it is stopped only if this succeeds (SC-151, SC-152). */
  readonly reschedule: boolean;
}

/** Stop and place as one: the stop is withdrawn if nothing fits (SC-145). */
export interface DestructiveUpdate {
  readonly alloc: Allocation;
  readonly group: TaskGroup;
}

/** What a job needs. Stops and rewrites are definite; placements depend on a node being found. */
export interface Reconciliation {
  readonly stops: StopOrder[];
  readonly placements: Placement[];
  readonly destructive: DestructiveUpdate[];
  /** New form of allocations that stay where they are. */
  readonly inPlace: Allocation[];
  /** Allocations of which only `FollowupEvalID` changes. */
  readonly attributeUpdates: Allocation[];
  readonly followups: Evaluation[];
  readonly desired: Record<string, DesiredUpdates>;
}

/** How an allocation becomes what the job says now; needs to look at its node (SC-252). */
export type UpdateDecision =
  | { readonly kind: 'ignore' }
  | { readonly kind: 'in-place'; readonly alloc: Allocation }
  | { readonly kind: 'destructive' };

export interface ReconcileInput {
  /** Null: purged. */
  readonly job: Job | null;
  readonly jobId: string;
  readonly allocs: readonly Allocation[];
  readonly tainted: TaintedNodes;
  readonly evaluation: Evaluation;
  readonly nowNs: number;
  readonly newId: () => string;
  readonly decideUpdate: (alloc: Allocation, group: TaskGroup) => UpdateDecision;
}

/**
 * Compares what a service or batch job wants with what exists (section 14). Pure: neither job nor allocations are
 * changed. Cost: O(allocations of the job), times log where names are ordered.
 *
 * Not yet: deployments, canaries and the rollout limit (a changed job is rolled out at once), disconnected clients with
 * `lost_after`, `stop_on_client_after`.
 */
export function reconcile(input: ReconcileInput): Reconciliation {
  const out: Reconciliation = {
    stops: [],
    placements: [],
    destructive: [],
    inPlace: [],
    attributeUpdates: [],
    followups: [],
    desired: {},
  };
  const { job } = input;
  const byGroup = groupsOf(input.allocs);
  if (!job || job.Stop) {
    for (const [name, allocs] of byGroup) stopAll(name, allocs.filter(isLive), input, out);
    return out;
  }
  const names = new Set([...job.TaskGroups.map((g) => g.Name), ...byGroup.keys()]);
  for (const name of names) {
    const group = findTaskGroup(job, name);
    const allocs = (byGroup.get(name) ?? []).filter((alloc) => counts(alloc, job)).toSorted(byIndex);
    if (!group || group.Count === 0) stopAll(name, allocs, input, out);
    else new GroupReconciler(input, job, group, allocs, out).run();
  }
  return out;
}

function groupsOf(allocs: readonly Allocation[]): Map<string, Allocation[]> {
  const byGroup = new Map<string, Allocation[]>();
  for (const alloc of allocs) {
    const group = byGroup.get(alloc.TaskGroup);
    if (group) group.push(alloc);
    else byGroup.set(alloc.TaskGroup, [alloc]);
  }
  return byGroup;
}

/** SC-156. */
function counts(alloc: Allocation, job: Job): boolean {
  return !isServerTerminal(alloc) || (job.Type === 'batch' && alloc.DesiredTransition.Reschedule !== true);
}

/** SC-245, SC-246. */
function stopAll(name: string, allocs: readonly Allocation[], input: ReconcileInput, out: Reconciliation): void {
  out.desired[name] = { ...noUpdates(), Stop: allocs.length };
  for (const alloc of allocs) {
    if (isServerTerminal(alloc)) continue;
    const lost = bucketOf(alloc, input.tainted, input.nowNs) === 'lost';
    out.stops.push(lost ? lostStop(alloc, input.nowNs) : { alloc, description: NOT_NEEDED });
  }
}

/** The group pipeline (14.1) for one group of a running job. Used once. */
class GroupReconciler {
  private readonly desired = noUpdates();
  private untainted: Allocation[] = [];
  private migrate: Allocation[] = [];
  private readonly lost: Allocation[] = [];
  private readonly rescheduleNow: Allocation[] = [];
  private readonly later: { alloc: Allocation; atNs: number }[] = [];

  constructor(
    private readonly input: ReconcileInput,
    private readonly job: Job,
    private readonly group: TaskGroup,
    private readonly allocs: readonly Allocation[],
    private readonly out: Reconciliation,
  ) {}

  run(): void {
    this.classify();
    this.filterForRescheduling();
    this.delayReschedules();
    const names = new NameIndex(this.job.ID, this.group.Name, this.group.Count, [
      ...this.untainted,
      ...this.migrate,
      ...this.rescheduleNow,
      ...this.lost,
    ]);
    this.stopLost();
    this.stopSurplus(names);
    const existing = this.untainted.length + this.migrate.length + this.rescheduleNow.length;
    this.updateRest();
    this.placeMissing(names, existing);
    this.migrateAway();
    this.out.desired[this.group.Name] = this.desired;
  }

  private classify(): void {
    for (const alloc of this.allocs) {
      if (this.isBatch && !isLive(alloc) && isFromOlderJob(alloc, this.job)) {
        this.desired.Ignore++; // SC-157: a new version of a batch job runs again
        continue;
      }
      switch (bucketOf(alloc, this.input.tainted, this.input.nowNs)) {
        case 'untainted':
          this.untainted.push(alloc);
          break;
        case 'migrate':
          this.migrate.push(alloc);
          break;
        case 'lost':
          this.lost.push(alloc);
          break;
        case 'ignore':
          this.desired.Ignore++;
          break;
      }
    }
  }

  /** SC-164 to SC-171. */
  private filterForRescheduling(): void {
    const kept: Allocation[] = [];
    for (const alloc of this.untainted) {
      const verdict = this.examineOrNot(alloc);
      if (verdict === 'drop') continue;
      if (verdict === 'now') this.rescheduleNow.push(alloc);
      else kept.push(alloc);
    }
    this.untainted = kept;
  }

  private examineOrNot(alloc: Allocation): 'keep' | 'drop' | 'now' {
    if (alloc.NextAllocation !== '' && !isLive(alloc)) return 'drop'; // SC-166, SC-178
    const filter = this.isBatch ? batchFilter(alloc) : serviceFilter(alloc);
    return filter === 'examine' ? this.examine(alloc) : filter;
  }

  private examine(alloc: Allocation): 'keep' | 'now' {
    if (alloc.DesiredTransition.ForceReschedule === true && isClientTerminal(alloc)) return 'now'; // SC-169
    const { eligible, atNs } = rescheduleTime(alloc);
    if (!eligible) return 'keep';
    const { evaluation, nowNs } = this.input;
    if (alloc.FollowupEvalID === evaluation.ID || atNs - nowNs <= RESCHEDULE_NOW_NS) return 'now';
    if (alloc.FollowupEvalID === '') this.later.push({ alloc, atNs });
    return 'keep';
  }

  /** SC-173 to SC-177. */
  private delayReschedules(): void {
    const { evaluation, newId, nowNs } = this.input;
    this.desired.RescheduleLater += this.later.length;
    let batch: { id: string; fromNs: number } | undefined;
    for (const { alloc, atNs } of this.later.toSorted((a, b) => a.atNs - b.atNs)) {
      if (!batch || atNs - batch.fromNs >= FOLLOW_UP_WINDOW_NS) {
        batch = { id: newId(), fromNs: atNs };
        this.out.followups.push(
          newEvaluation({
            ID: batch.id,
            Namespace: evaluation.Namespace,
            Priority: evaluation.Priority,
            Type: this.job.Type,
            TriggeredBy: 'alloc-reschedule',
            JobID: this.job.ID,
            JobModifyIndex: this.job.ModifyIndex,
            StatusDescription: DELAYED_RESCHEDULE,
            WaitUntil: rfc3339FromNs(atNs),
            PreviousEval: evaluation.ID,
            CreateTime: nowNs,
          }),
        );
      }
      // No job: it keeps the version it has (EB-340).
      this.out.attributeUpdates.push({ ...alloc, Job: null, FollowupEvalID: batch.id });
    }
  }

  private stopLost(): void {
    this.desired.Stop += this.lost.length;
    for (const alloc of this.lost) this.out.stops.push(lostStop(alloc, this.input.nowNs));
  }

  /** SC-209 to SC-213. */
  private stopSurplus(names: NameIndex): void {
    const known = this.untainted.filter((a) => a.ClientStatus !== 'unknown').length;
    let surplus = known + this.migrate.length - this.group.Count;
    if (surplus <= 0) return;
    const stopWhere = (from: Allocation[], chosen: (alloc: Allocation) => boolean): Allocation[] => {
      const stay: Allocation[] = [];
      for (const alloc of from) {
        if (surplus <= 0 || !chosen(alloc)) {
          stay.push(alloc);
          continue;
        }
        surplus--;
        this.desired.Stop++;
        if (!isServerTerminal(alloc)) this.out.stops.push({ alloc, description: NOT_NEEDED }); // SC-211
        names.release(alloc.Name);
      }
      return stay;
    };
    const migrating = new NameIndex(this.job.ID, this.group.Name, this.group.Count, this.migrate).highest(surplus);
    this.migrate = stopWhere(this.migrate, (alloc) => migrating.has(alloc.Name));
    const highest = names.highest(Math.max(0, surplus));
    this.untainted = stopWhere(this.untainted, (alloc) => highest.has(alloc.Name));
    this.untainted = stopWhere(this.untainted, () => true);
  }

  private updateRest(): void {
    const rewritten = new Set(this.out.attributeUpdates.map((alloc) => alloc.ID));
    for (const alloc of this.untainted) {
      const decision = this.input.decideUpdate(alloc, this.group);
      switch (decision.kind) {
        case 'ignore':
          this.desired.Ignore++;
          break;
        case 'in-place':
          this.desired.InPlaceUpdate++;
          if (!rewritten.has(alloc.ID)) this.out.inPlace.push(decision.alloc);
          break;
        case 'destructive':
          this.desired.DestructiveUpdate++;
          this.out.destructive.push({ alloc, group: this.group });
          break;
      }
    }
  }

  /** SC-199, SC-200, SC-221, SC-225, SC-226. */
  private placeMissing(names: NameIndex, existing: number): void {
    const { group } = this;
    const placements: Placement[] = this.rescheduleNow.map((previous) => ({
      name: previous.Name,
      group,
      previous,
      reschedule: true,
    }));
    for (const previous of this.lost) {
      if (existing >= group.Count) break;
      existing++;
      placements.push({ name: previous.Name, group, previous, reschedule: false });
    }
    for (const name of names.next(Math.max(0, group.Count - existing)))
      placements.push({ name, group, previous: undefined, reschedule: false });
    this.desired.Place += placements.length;
    this.out.placements.push(...placements);
  }

  /** SC-229. */
  private migrateAway(): void {
    this.desired.Migrate += this.migrate.length;
    for (const alloc of this.migrate) {
      this.out.stops.push({ alloc, description: MIGRATING });
      const { Reschedule, MigrateDisablePlacement } = alloc.DesiredTransition;
      if (this.isBatch && (Reschedule === true || MigrateDisablePlacement === true)) continue;
      this.out.placements.push({ name: alloc.Name, group: this.group, previous: alloc, reschedule: false });
    }
  }

  private get isBatch(): boolean {
    return this.job.Type === 'batch';
  }
}

/** SC-167, batch rows. */
function batchFilter(alloc: Allocation): 'keep' | 'drop' | 'examine' {
  const { DesiredTransition: wanted, DesiredStatus } = alloc;
  if (wanted.MigrateDisablePlacement === true) return 'keep';
  if (wanted.Reschedule === true) return 'examine';
  if (DesiredStatus === 'stop') {
    if (ranSuccessfully(alloc)) return 'keep';
    return alloc.RescheduleTracker?.LastReschedule === 'no placement' ? 'examine' : 'drop';
  }
  if (DesiredStatus === 'evict') return 'drop';
  return alloc.ClientStatus === 'failed' ? 'examine' : 'keep';
}

/** SC-167, service rows. */
function serviceFilter(alloc: Allocation): 'keep' | 'drop' | 'examine' {
  if (isServerTerminal(alloc)) return alloc.RescheduleTracker?.LastReschedule === 'no placement' ? 'examine' : 'drop';
  return alloc.ClientStatus === 'complete' || alloc.ClientStatus === 'lost' ? 'drop' : 'examine';
}

/** What the old one of a successful reschedule is told (SC-152, SC-172). */
export function rescheduledStop(alloc: Allocation): StopOrder {
  return {
    alloc,
    description: RESCHEDULED,
    tracker: { Events: alloc.RescheduleTracker?.Events ?? [], LastReschedule: 'ok' },
  };
}

export function noUpdates(): DesiredUpdates {
  return {
    Ignore: 0,
    Place: 0,
    Migrate: 0,
    Stop: 0,
    InPlaceUpdate: 0,
    DestructiveUpdate: 0,
    Canary: 0,
    Preemptions: 0,
    Disconnect: 0,
    Reconnect: 0,
    RescheduleNow: 0,
    RescheduleLater: 0,
  };
}

function byIndex(a: Allocation, b: Allocation): number {
  return indexIn(a.Name) - indexIn(b.Name) || (a.ID < b.ID ? -1 : 1);
}
