import {
  findTaskGroup,
  isServerTerminal,
  type Allocation,
  type DeploymentState,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { bucketOf, lostStop, mayRewrite, type Bucket } from './classification.js';
import type { Due } from './follow-ups.js';
import type { ReconciliationDraft } from './reconciliation-draft.js';
import { noUpdates, type ReconcileInput } from './reconciliation.js';
import type { RescheduleView } from './reschedule-filter.js';
import type { Rollout } from './rollout.js';

/** One group of a running job, and what is given to reconcile it. */
export interface GroupInput {
  readonly input: ReconcileInput;
  readonly job: Job;
  readonly group: TaskGroup;
  /** All of the group. */
  readonly stored: readonly Allocation[];
  /** Those that count (SC-156), by the index in their names. */
  readonly counting: readonly Allocation[];
}

/**
 * What is known of one group while the steps of 14.1 go over it: each moves allocations between buckets and lists, counts
 * what it decided, and leaves orders in `out`. One per group and attempt; nothing of the state is changed.
 */
export class GroupDraft {
  readonly desired = noUpdates();
  readonly buckets: Record<Exclude<Bucket, 'ignore'>, Allocation[]> = {
    untainted: [],
    migrate: [],
    lost: [],
    expiring: [],
    reconnecting: [],
    disconnecting: [],
  };
  /** What no step has taken out yet. */
  allocs: readonly Allocation[];
  /** To be replaced in this attempt. */
  rescheduleNow: Allocation[] = [];
  /** To be replaced when a follow-up evaluation is due. */
  later: Due[] = [];
  /** Allocations in `rescheduleNow` that are not stopped when they are replaced (SC-172). */
  readonly staying = new Set<string>();
  /** Batch allocations that ended well while they were out of reach, and whose results count. */
  readonly finished = new Set<string>();
  /** SC-216: those of the current deployment that count, by id. */
  readonly canaries = new Map<string, Allocation>();

  readonly input: ReconcileInput;
  readonly job: Job;
  readonly group: TaskGroup;
  readonly stored: ReadonlyMap<string, Allocation>;
  readonly view: RescheduleView;
  readonly rollout: Rollout;
  /** The group's state in the current deployment. */
  readonly known: DeploymentState | undefined;
  /** The same as it will be, or the one it gets if it joins. */
  readonly state: DeploymentState | undefined;

  constructor(
    given: GroupInput,
    readonly out: ReconciliationDraft,
  ) {
    this.input = given.input;
    this.job = given.job;
    this.group = given.group;
    this.allocs = given.counting;
    this.rollout = out.rollout;
    this.stored = new Map(given.stored.map((alloc) => [alloc.ID, alloc]));
    this.known = this.rollout.stateOf(this.group.Name);
    const state = this.known ?? this.rollout.newStateFor(this.group);
    this.state = state && { ...state };
    this.view = {
      isBatch: this.isBatch,
      evaluationId: this.input.evaluation.ID,
      nowNs: this.input.nowNs,
      activeDeploymentId: this.rollout.activeId,
      isWaitingCanary: ({ ID }) => this.isCanarying && this.canaries.has(ID),
      isFinished: ({ ID }) => this.finished.has(ID),
      stored: this.stored,
      isComing: this.input.isComing,
      mayRewrite: (alloc) => mayRewrite(alloc, this.input.tainted),
    };
  }

  get isBatch(): boolean {
    return this.job.Type === 'batch';
  }

  /** SC-217. */
  get isCanarying(): boolean {
    return this.state !== undefined && this.state.DesiredCanaries > 0 && !this.state.Promoted;
  }

  /** What is no canary is placed in the version from before the rollout (SC-150, DP-1110). */
  get placesOlder(): boolean {
    return this.isCanarying || this.rollout.isBeforeItsTurn;
  }

  /** SC-226: nothing holds the group back. */
  get isFree(): boolean {
    return !this.rollout.isPaused && !this.rollout.isFailed && !this.isCanarying;
  }

  /**
   * How many places a group had whose rollout is held back: those of the version before, or what the rollout itself has
   * placed. What was lost and found no room is not among the allocations any more, and is placed all the same (DP-115); what
   * the rollout would add waits until it goes on. By the letter (SC-220, SC-227) such a place stays empty for good.
   */
  placesBefore(): number {
    const before = this.input.versionBefore(this.group.Name);
    const count = (before && findTaskGroup(before, this.group.Name)?.Count) ?? 0;
    return this.placesOlder ? count : Math.max(count, this.known?.PlacedAllocs ?? 0);
  }

  bucketOf(alloc: Allocation): Bucket {
    return bucketOf(alloc, this.input.tainted, this.input.nowNs);
  }

  /** Told to stop, or given up where nobody answers any more. SC-211: what was told already is not told again. */
  stopAs(alloc: Allocation, description: string): void {
    if (isServerTerminal(alloc)) return;
    const bucket = this.bucketOf(alloc);
    const lost = bucket === 'lost' || bucket === 'expiring';
    this.out.stop(lost ? lostStop(alloc, this.input.nowNs) : { alloc, description });
  }
}
