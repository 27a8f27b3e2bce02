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

/** One group of a running job, with the input to reconcile it. */
export interface GroupInput {
  readonly input: ReconcileInput;
  readonly job: Job;
  readonly group: TaskGroup;
  /** All stored allocations of the group. */
  readonly stored: readonly Allocation[];
  /** The allocations that count (SC-156), by the index in their names. */
  readonly counting: readonly Allocation[];
}

/**
 * The intermediate result of the steps of 14.1 for one group. Each step moves allocations between buckets and lists,
 * counts its decisions, and leaves orders in `out`. One for each group and attempt; it changes nothing in the state.
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
  /** Allocations that no step has removed yet. */
  allocs: readonly Allocation[];
  /** Allocations to replace in this attempt. */
  rescheduleNow: Allocation[] = [];
  /** Allocations to replace when a follow-up evaluation is due. */
  later: Due[] = [];
  /** Allocations in `rescheduleNow` that are not stopped when they are replaced (SC-172). */
  readonly staying = new Set<string>();
  /** Batch allocations that completed while they were disconnected, and whose results count. */
  readonly finished = new Set<string>();
  /** The canaries of the current deployment that count, by ID (SC-216). */
  readonly canaries = new Map<string, Allocation>();

  readonly input: ReconcileInput;
  readonly job: Job;
  readonly group: TaskGroup;
  readonly stored: ReadonlyMap<string, Allocation>;
  readonly view: RescheduleView;
  readonly rollout: Rollout;
  /** The group's state in the current deployment. */
  readonly known: DeploymentState | undefined;
  /** The group's state after this attempt, or the state with which the group joins the deployment. */
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

  /** Whether canaries of the group wait for promotion (SC-217). */
  get isCanarying(): boolean {
    return this.state !== undefined && this.state.DesiredCanaries > 0 && !this.state.Promoted;
  }

  /** Whether allocations other than canaries are placed in the version before the rollout (SC-150, DP-1110). */
  get placesOlder(): boolean {
    return this.isCanarying || this.rollout.isBeforeItsTurn;
  }

  /** Whether the group's rollout may continue (SC-226). */
  get isFree(): boolean {
    return !this.rollout.isPaused && !this.rollout.isFailed && !this.isCanarying;
  }

  /**
   * The number of places of a group whose rollout is held back: those of the previous version, or those that the
   * rollout itself has filled. Lost allocations that found no node are not stored any more, and are placed all the same
   * (DP-115); additional allocations of the rollout wait until it continues. Read strictly, the rules (SC-220, SC-227)
   * leave such a place empty for good.
   */
  placesBefore(): number {
    const before = this.input.versionBefore(this.group.Name);
    const count = (before && findTaskGroup(before, this.group.Name)?.Count) ?? 0;
    return this.placesOlder ? count : Math.max(count, this.known?.PlacedAllocs ?? 0);
  }

  bucketOf(alloc: Allocation): Bucket {
    return bucketOf(alloc, this.input.tainted, this.input.nowNs);
  }

  /**
   * Stops an allocation, or marks it as lost if its node is gone. An allocation that was stopped before is not stopped
   * again (SC-211).
   */
  stopAs(alloc: Allocation, description: string): void {
    if (isServerTerminal(alloc)) return;
    const bucket = this.bucketOf(alloc);
    const lost = bucket === 'lost' || bucket === 'expiring';
    this.out.stop(lost ? lostStop(alloc, this.input.nowNs) : { alloc, description });
  }
}
