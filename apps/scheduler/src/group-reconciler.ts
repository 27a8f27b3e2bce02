import { isServerTerminal, type Allocation, type DeploymentState, type Job, type TaskGroup } from '@waybill/model';
import {
  asReconnected,
  asUnknown,
  bucketOf,
  disconnectOf,
  isCanary,
  isFromOlderJob,
  isLive,
  lostStop,
  mayRewrite,
  type Bucket,
} from './classification.js';
import type { ReconciliationDraft } from './cluster-reconciler.js';
import { replaceableFrom } from './delayed-stop.js';
import { DELAYED_RESCHEDULE, DISCONNECT_TIMEOUT, MIGRATING, NOT_NEEDED } from './descriptions.js';
import type { Due } from './follow-ups.js';
import { NameIndex } from './name-index.js';
import { resolveReconnecting } from './reconnect.js';
import { noUpdates, type Placement, type ReconcileInput } from './reconciliation.js';
import { rescheduleVerdict, type RescheduleView } from './reschedule-filter.js';
import { updateOf, type Rollout } from './rollout.js';

/**
 * The pipeline of 14.1 for one group of a running job; `run` is its table of contents. Used once.
 * Cost: O(allocations of the group), times log where names are ordered.
 */
export class GroupReconciler {
  private readonly desired = noUpdates();
  private readonly buckets: Record<Exclude<Bucket, 'ignore'>, Allocation[]> = {
    untainted: [],
    migrate: [],
    lost: [],
    expiring: [],
    reconnecting: [],
    disconnecting: [],
  };
  private readonly rescheduleNow: Allocation[] = [];
  private readonly later: Due[] = [];
  /** Allocations in `rescheduleNow` that are not stopped when they are replaced (SC-172). */
  private readonly staying = new Set<string>();
  private readonly canaries = new Map<string, Allocation>();
  /** Places of stopped allocations that must stay empty for now (SC-201, SC-203). */
  private waiting = 0;
  private delayed = false;
  private readonly destructive: Allocation[] = [];
  /** Of the destructive updates those that are only stopped. */
  private readonly dropped = new Set<string>();
  /** Placements that this attempt makes, canaries aside. */
  private placed = 0;

  private readonly stored: ReadonlyMap<string, Allocation>;
  private readonly view: RescheduleView;
  private readonly rollout: Rollout;
  /** Of the group, in the current deployment. */
  private readonly known: DeploymentState | undefined;
  private readonly state: DeploymentState | undefined;

  constructor(
    private readonly input: ReconcileInput,
    private readonly job: Job,
    private readonly group: TaskGroup,
    private readonly storedAllocs: readonly Allocation[],
    private allocs: readonly Allocation[],
    private readonly out: ReconciliationDraft,
  ) {
    this.rollout = out.rollout;
    this.stored = new Map(storedAllocs.map((alloc) => [alloc.ID, alloc]));
    this.known = this.rollout.stateOf(group.Name);
    const state = this.known ?? this.rollout.newStateFor(group);
    this.state = state && { ...state };
    this.view = {
      isBatch: job.Type === 'batch',
      evaluationId: input.evaluation.ID,
      nowNs: input.nowNs,
      activeDeploymentId: this.rollout.activeId,
      stored: this.stored,
      mayRewrite: (alloc) => mayRewrite(alloc, input.tainted),
    };
  }

  /** @returns whether the group is as its deployment wants it (SC-240) */
  run(): boolean {
    this.stopUnneededCanaries();
    this.findCanaries();
    this.classify();
    this.filterForRescheduling();
    this.reconnect();
    this.buckets.lost.push(...this.buckets.expiring);
    this.disconnect();
    const lostFollowups = this.delayLost();
    this.delayReschedules();
    const named = new Set([
      ...this.buckets.untainted,
      ...this.buckets.migrate,
      ...this.rescheduleNow,
      ...this.buckets.lost,
    ]);
    const names = new NameIndex(this.job.ID, this.group.Name, this.group.Count, [...named]);
    this.stopLost(lostFollowups);
    this.stopSurplus(names);
    const updated = this.updateRest();
    this.dropReplacedUnknown(names);
    if (this.isCanarying) this.buckets.untainted = this.buckets.untainted.filter((a) => !this.canaries.has(a.ID)); // SC-219
    const canaries = this.newCanaries(names);
    const wanted = this.placeMissing(names, canaries);
    this.replaceDestructive(names);
    this.migrateAway(names);
    this.attachToDeployment(updated, wanted);
    this.out.desired[this.group.Name] = this.desired;
    return this.isComplete(updated, wanted, canaries.length > 0);
  }

  /** SC-217. */
  private get isCanarying(): boolean {
    return this.state !== undefined && this.state.DesiredCanaries > 0 && !this.state.Promoted;
  }

  /** SC-226: nothing holds the group back. */
  private get isFree(): boolean {
    return !this.rollout.isPaused && !this.rollout.isFailed && !this.isCanarying;
  }

  /** SC-215. */
  private stopUnneededCanaries(): void {
    const unneeded = this.rollout.unneededCanaries();
    if (unneeded.size === 0) return;
    for (const alloc of this.allocs) {
      if (!unneeded.has(alloc.ID)) continue;
      this.desired.Stop++;
      this.stopAs(alloc, NOT_NEEDED);
    }
    this.allocs = this.allocs.filter(({ ID }) => !unneeded.has(ID));
  }

  /** SC-216. Once promoted they are allocations like others. */
  private findCanaries(): void {
    if (!this.known || this.rollout.isFailed) return;
    const placed = new Set(this.known.PlacedCanaries);
    const gone = new Set<string>();
    for (const alloc of this.allocs) {
      if (!placed.has(alloc.ID)) continue;
      const bucket = this.known.Promoted ? 'untainted' : bucketOf(alloc, this.input.tainted, this.input.nowNs);
      if (bucket === 'migrate' || bucket === 'lost' || bucket === 'expiring') {
        gone.add(alloc.ID);
        this.stopAs(alloc, MIGRATING);
      } else if (!isServerTerminal(alloc)) this.canaries.set(alloc.ID, alloc);
    }
    this.allocs = this.allocs.filter(({ ID }) => !gone.has(ID));
  }

  private classify(): void {
    for (const alloc of this.allocs) {
      if (this.isBatch && !isLive(alloc) && isFromOlderJob(alloc, this.job)) {
        this.desired.Ignore++; // SC-157: a new version of a batch job runs again
        continue;
      }
      const bucket = bucketOf(alloc, this.input.tainted, this.input.nowNs);
      if (bucket === 'ignore') this.desired.Ignore++;
      else this.buckets[bucket].push(alloc);
    }
  }

  /** SC-164 to SC-171. */
  private filterForRescheduling(): void {
    const kept: Allocation[] = [];
    for (const alloc of this.buckets.untainted) {
      const verdict = rescheduleVerdict(alloc, this.view);
      if (verdict.kind === 'drop') continue;
      if (verdict.kind === 'now') {
        this.rescheduleNow.push(alloc);
        if (alloc.ClientStatus === 'unknown') this.staying.add(alloc.ID); // SC-194
        continue;
      }
      if (verdict.kind === 'later') this.later.push({ alloc, atNs: verdict.atNs });
      kept.push(alloc);
    }
    this.buckets.untainted = kept;
    if (this.isBatch) for (const alloc of this.buckets.migrate) this.rescheduleMigrating(alloc);
  }

  /** SC-231: `alloc stop` of a batch job; it is stopped now, and replaced as its policy says. */
  private rescheduleMigrating(alloc: Allocation): void {
    const verdict = rescheduleVerdict(alloc, this.view);
    if (verdict.kind === 'later') this.later.push({ alloc, atNs: verdict.atNs });
    if (verdict.kind !== 'now') return;
    this.rescheduleNow.push(alloc);
    this.staying.add(alloc.ID);
  }

  /** SC-179 to SC-187. */
  private reconnect(): void {
    const { reconnecting } = this.buckets;
    if (reconnecting.length === 0) return;
    const { kept, stops } = resolveReconnecting(reconnecting, this.stored, this.job, this.input.nowNs);
    const stopped = new Set<string>();
    for (const order of stops) {
      stopped.add(order.alloc.ID);
      this.desired.Stop++;
      this.out.stop(order);
    }
    const stays = ({ ID }: Allocation): boolean => !stopped.has(ID);
    for (const name of ['untainted', 'migrate', 'lost', 'expiring', 'disconnecting'] as const)
      this.buckets[name] = this.buckets[name].filter(stays);
    this.rescheduleNow.splice(0, this.rescheduleNow.length, ...this.rescheduleNow.filter(stays));
    this.later.splice(0, this.later.length, ...this.later.filter(({ alloc }) => stays(alloc)));
    for (const alloc of kept) {
      if (alloc.ClientStatus !== 'running' || !this.input.hasSettled(alloc.NodeID)) {
        this.buckets.untainted.push(alloc); // SC-185: the next evaluation handles it
        continue;
      }
      const back = asReconnected(alloc, this.input.nowNs);
      this.out.rewrites.set(alloc.ID, back);
      this.desired.Reconnect++;
      this.buckets.untainted.push(alloc);
    }
  }

  /** SC-190 to SC-193. */
  private disconnect(): void {
    const { disconnecting } = this.buckets;
    if (disconnecting.length === 0) return;
    const { nowNs } = this.input;
    const later: Due[] = [];
    const stay: Allocation[] = [];
    for (const alloc of disconnecting) {
      const verdict = rescheduleVerdict(alloc, this.view, true);
      if (verdict.kind === 'now') {
        this.rescheduleNow.push(alloc);
        this.staying.add(alloc.ID);
      } else if (verdict.kind !== 'drop') stay.push(alloc);
      if (verdict.kind === 'later') later.push({ alloc, atNs: verdict.atNs });
    }
    const timeouts = disconnecting.map((alloc) => ({ alloc, atNs: nowNs + (disconnectOf(alloc)?.LostAfter ?? 0) }));
    const timeoutEvals = this.out.followUps.cover(this.job, timeouts, 'max-disconnect-timeout', DISCONNECT_TIMEOUT);
    const laterEvals = this.out.followUps.cover(this.job, later, 'alloc-reschedule', DELAYED_RESCHEDULE);
    this.desired.RescheduleLater += later.length;
    this.desired.RescheduleNow = this.rescheduleNow.length; // SC-177
    this.desired.Disconnect += disconnecting.length;
    for (const alloc of disconnecting) {
      const followup = laterEvals.get(alloc.ID) ?? timeoutEvals.get(alloc.ID) ?? '';
      this.out.rewrites.set(alloc.ID, asUnknown(alloc, nowNs, followup));
    }
    // From here on they count as what they become.
    for (const alloc of stay) this.buckets.untainted.push({ ...alloc, ClientStatus: 'unknown' });
  }

  /** SC-201 to SC-203: lost ones whose agent stops them only later. @returns their follow-ups, by allocation */
  private delayLost(): ReadonlyMap<string, string> {
    const { nowNs, evaluation } = this.input;
    const due = this.buckets.lost
      .map((alloc) => ({ alloc, atNs: replaceableFrom(alloc, nowNs) }))
      .filter(({ atNs }) => atNs > nowNs);
    this.delayed = due.length > 0;
    this.waiting = this.storedAllocs.filter(
      (alloc) =>
        alloc.DesiredStatus === 'stop' &&
        alloc.ClientStatus === 'lost' &&
        alloc.NextAllocation === '' &&
        alloc.FollowupEvalID !== '' &&
        alloc.FollowupEvalID !== evaluation.ID &&
        replaceableFrom(alloc, nowNs) > nowNs,
    ).length;
    return this.out.followUps.cover(this.job, due, 'alloc-failure', DELAYED_RESCHEDULE);
  }

  /** SC-173 to SC-177. */
  private delayReschedules(): void {
    this.desired.RescheduleLater += this.later.length;
    const evalIds = this.out.followUps.cover(this.job, this.later, 'alloc-reschedule', DELAYED_RESCHEDULE);
    for (const { alloc } of this.later) {
      const FollowupEvalID = evalIds.get(alloc.ID) ?? '';
      // No job: it keeps the version it has (EB-340).
      this.out.rewrites.set(alloc.ID, { ...alloc, ...this.out.rewrites.get(alloc.ID), Job: null, FollowupEvalID });
    }
  }

  private stopLost(followups: ReadonlyMap<string, string>): void {
    this.desired.Stop += this.buckets.lost.length;
    for (const alloc of this.buckets.lost)
      this.out.stop(lostStop(alloc, this.input.nowNs, followups.get(alloc.ID) ?? ''));
  }

  /** SC-209 to SC-214. */
  private stopSurplus(names: NameIndex): void {
    const { buckets, canaries } = this;
    const held = this.isCanarying ? buckets.untainted.filter(({ ID }) => canaries.has(ID)) : [];
    const inHold = new Set(held.map(({ ID }) => ID));
    // Of one name a known one goes first.
    let candidates = buckets.untainted
      .filter(({ ID }) => !inHold.has(ID))
      .toSorted((a, b) => Number(a.ClientStatus === 'unknown') - Number(b.ClientStatus === 'unknown'));
    const known = candidates.filter((a) => a.ClientStatus !== 'unknown').length;
    let surplus = known + buckets.migrate.length - this.group.Count;
    if (surplus <= 0) return;
    const stopWhere = (from: readonly Allocation[], chosen: (alloc: Allocation) => boolean): Allocation[] => {
      const stay: Allocation[] = [];
      for (const alloc of from) {
        if (surplus <= 0 || !chosen(alloc)) {
          stay.push(alloc);
          continue;
        }
        surplus--;
        this.desired.Stop++;
        this.stopAs(alloc, NOT_NEEDED); // SC-211
        names.release(alloc.Name);
      }
      return stay;
    };
    if (canaries.size > 0 && !this.isCanarying) {
      const replaced = new Set([...canaries.values()].map(({ Name }) => Name));
      candidates = stopWhere(candidates, ({ ID, Name }) => replaced.has(Name) && !canaries.has(ID));
    }
    const migrating = new NameIndex(this.job.ID, this.group.Name, this.group.Count, buckets.migrate).highest(surplus);
    buckets.migrate = stopWhere(buckets.migrate, ({ Name }) => migrating.has(Name));
    const highest = names.highest(Math.max(0, surplus));
    candidates = stopWhere(candidates, ({ Name }) => highest.has(Name));
    candidates = stopWhere(candidates, () => true);
    const left = new Set([...candidates, ...held].map(({ ID }) => ID));
    buckets.untainted = buckets.untainted.filter(({ ID }) => left.has(ID));
  }

  /** Section 15. @returns how many are changed, in place or destructively */
  private updateRest(): number {
    let inPlace = 0;
    for (const alloc of this.buckets.untainted) {
      const decision = this.input.decideUpdate(alloc, this.group);
      switch (decision.kind) {
        case 'ignore':
          this.desired.Ignore++;
          break;
        case 'in-place':
          inPlace++;
          this.rewriteInPlace(decision.alloc);
          break;
        case 'destructive':
          this.destructive.push(alloc);
          break;
      }
    }
    this.desired.InPlaceUpdate += inPlace;
    return inPlace + this.destructive.length;
  }

  /**
   * SC-196 within SC-340: an unknown allocation of an older version beyond Count has its replacement already. It is stopped,
   * not replaced a second time.
   */
  private dropReplacedUnknown(names: NameIndex): void {
    const { buckets, rescheduleNow, group } = this;
    if (this.isCanarying || this.limit() === 0) return;
    let excess = buckets.untainted.length + buckets.migrate.length + rescheduleNow.length - group.Count;
    for (const alloc of this.destructive) {
      if (excess <= 0) break;
      if (alloc.ClientStatus !== 'unknown') continue;
      excess--;
      this.dropped.add(alloc.ID);
      this.desired.Stop++;
      this.stopAs(alloc, NOT_NEEDED);
      names.release(alloc.Name);
    }
    buckets.untainted = buckets.untainted.filter(({ ID }) => !this.dropped.has(ID));
  }

  private rewriteInPlace(alloc: Allocation): void {
    const before = this.out.rewrites.get(alloc.ID);
    this.out.inPlace.add(alloc.ID);
    this.out.rewrites.set(alloc.ID, before ? { ...before, ...versionOf(alloc) } : alloc);
  }

  /** SC-218. */
  private newCanaries(names: NameIndex): Placement[] {
    const { state, group, rollout } = this;
    const wanted = updateOf(group)?.Canary ?? 0;
    if (!state || state.Promoted || this.destructive.length === 0 || this.canaries.size >= wanted) return [];
    state.DesiredCanaries = wanted;
    const missing = wanted - this.canaries.size;
    this.desired.Canary += missing;
    if (rollout.isPaused || rollout.isFailed) return [];
    return names
      .nextCanaries(missing, this.canaries.values(), this.destructive)
      .map((name) => ({ name, group, previous: undefined, reschedule: 'no', canary: true, olderVersion: false }));
  }

  /** SC-199, SC-200, SC-220, SC-221, SC-225 to SC-227. @returns how many are wanted, made or not */
  private placeMissing(names: NameIndex, canaries: readonly Placement[]): number {
    const { group, buckets, rescheduleNow } = this;
    // One of a batch job that is stopped with rescheduling is both migrating and replaced now (SC-231).
    const replaced = new Set([...buckets.migrate, ...rescheduleNow]);
    let existing = buckets.untainted.length + replaced.size + this.waiting;
    const now = rescheduleNow.map((previous) =>
      this.replacing(previous, names, this.staying.has(previous.ID) ? 'keeps-previous' : 'stops-previous'),
    );
    const lost: Placement[] = [];
    for (const previous of buckets.lost) {
      if (existing >= group.Count) break;
      existing++;
      lost.push(this.replacing(previous, names, 'no'));
    }
    const missing = Math.max(0, group.Count - existing);
    const wanted = now.length + lost.length + missing;
    let placements: Placement[] = [];
    if (this.delayed) placements = []; // SC-202
    else if (this.isFree) placements = [...now, ...lost, ...names.next(missing).map((name) => this.fresh(name))];
    else placements = [...now.filter(({ previous }) => !this.isOfFailedDeployment(previous)), ...lost];
    this.desired.Place += placements.length;
    const all = [...canaries, ...placements];
    if (all.length > group.Count) this.desired.Place = group.Count; // SC-221
    this.out.placements.push(...all.slice(0, group.Count));
    this.placed = placements.length;
    return wanted;
  }

  private isOfFailedDeployment(alloc: Allocation | undefined): boolean {
    return this.rollout.isFailed && alloc?.DeploymentID === this.rollout.current?.ID;
  }

  private fresh(name: string): Placement {
    return { name, group: this.group, previous: undefined, reschedule: 'no', canary: false, olderVersion: false };
  }

  private replacing(previous: Allocation, names: NameIndex, reschedule: Placement['reschedule']): Placement {
    const canary = isCanary(previous);
    return {
      name: canary ? previous.Name : names.successorOf(previous.Name),
      group: this.group,
      previous,
      reschedule,
      canary,
      olderVersion: this.isCanarying && !canary,
    };
  }

  /** SC-222 to SC-224. */
  private replaceDestructive(names: NameIndex): void {
    const { group } = this;
    const destructive = this.destructive.filter((alloc) => !this.dropped.has(alloc.ID));
    const limit = Math.min(this.limit() - this.placed, group.Count); // SC-340
    const chosen = destructive.slice(0, Math.max(0, limit));
    this.desired.DestructiveUpdate += chosen.length;
    this.desired.Ignore += destructive.length - chosen.length;
    for (const alloc of chosen) this.out.destructive.push({ alloc, group, name: names.successorOf(alloc.Name) });
  }

  private limit(): number {
    const update = updateOf(this.group);
    const { current } = this.rollout;
    if (!update) return this.group.Count;
    if (this.isCanarying || (current && !this.isFree)) return 0;
    if (!current) return update.MaxParallel;
    let limit = update.MaxParallel;
    for (const { DeploymentID, DeploymentStatus } of this.buckets.untainted) {
      if (DeploymentID !== current.ID) continue;
      if (DeploymentStatus?.Healthy === false) return 0;
      if (DeploymentStatus?.Healthy !== true) limit--;
    }
    return Math.max(0, limit);
  }

  /** SC-229, SC-230. */
  private migrateAway(names: NameIndex): void {
    this.desired.Migrate += this.buckets.migrate.length;
    for (const alloc of this.buckets.migrate) {
      const followupEvalId = this.out.rewrites.get(alloc.ID)?.FollowupEvalID ?? '';
      this.out.stop({ alloc, description: MIGRATING, followupEvalId });
      const { Reschedule, MigrateDisablePlacement } = alloc.DesiredTransition;
      if (this.isBatch && (Reschedule === true || MigrateDisablePlacement === true)) continue;
      this.out.placements.push(this.replacing(alloc, names, 'no'));
    }
  }

  /** SC-236, SC-237. */
  private attachToDeployment(updated: number, wanted: number): void {
    const { state, known, rollout } = this;
    if (!state || rollout.isFailed) return;
    if (known) {
      if (known.DesiredCanaries !== state.DesiredCanaries) rollout.attach(this.group.Name, state);
      return;
    }
    state.DesiredTotal = updated + wanted;
    if (state.DesiredTotal === 0) return;
    const runsAlready = this.allocs.some(
      ({ Job }) => Job?.Version === this.job.Version && Job.CreateIndex === this.job.CreateIndex,
    );
    if (updated > 0 || !runsAlready) rollout.attach(this.group.Name, state);
  }

  private isComplete(updated: number, wanted: number, canariesWanted: boolean): boolean {
    const pending =
      updated + wanted + this.buckets.migrate.length + this.desired.RescheduleLater + Number(this.delayed) > 0;
    if (pending || canariesWanted || !this.rollout.current) return false;
    const { known } = this;
    if (!known) return true;
    const { HealthyAllocs, DesiredTotal, DesiredCanaries, Promoted } = known;
    return HealthyAllocs >= Math.max(DesiredTotal, DesiredCanaries) && (DesiredCanaries === 0 || Promoted);
  }

  /** Told to stop, or given up where nobody answers any more. SC-211: what was told already is not told again. */
  private stopAs(alloc: Allocation, description: string): void {
    if (isServerTerminal(alloc)) return;
    const bucket = bucketOf(alloc, this.input.tainted, this.input.nowNs);
    const lost = bucket === 'lost' || bucket === 'expiring';
    this.out.stop(lost ? lostStop(alloc, this.input.nowNs) : { alloc, description });
  }

  private get isBatch(): boolean {
    return this.job.Type === 'batch';
  }
}

/** What an in-place update changes of a record that something else changes too. */
function versionOf({ EvalID, Job, AllocatedResources }: Allocation): Partial<Allocation> {
  return { EvalID, Job, AllocatedResources };
}
