import {
  isFullCommit,
  modifyTimeOf,
  nsFromMs,
  nsFromRfc3339,
  type Clock,
  type Evaluation,
  type Plan,
  type PlanResult,
} from '@waybill/model';
import { namespacedKey, type NodeLoads, type Tables } from '@waybill/state';
import { latestDeployment, queuedAfter, type Attempt, type BlockedBy } from '../attempt.js';
import { blockedEvaluation, eligibilityOf } from '../blocked-evaluation.js';
import { BLOCKED_CONFLICTS, BLOCKED_REMAINING } from '../descriptions.js';
import { acceptsTrigger, MAX_ATTEMPTS, schedule, schedulerTypeFor, type SchedulerType } from '../schedule.js';

/** A run's requests to the broker, all in the name of one delivery. */
export interface Planner {
  submitPlan(plan: Plan): Promise<PlanResult>;
  updateEval(evaluation: Evaluation): Promise<void>;
  createEval(evaluation: Evaluation): Promise<void>;
  reblockEval(evaluation: Evaluation): Promise<void>;
}

/** The state that a run reads: it must not change during one attempt. */
export interface Snapshots {
  readonly tables: Tables;
  readonly appliedIndex: number;
  /** Kept up to date with `tables`. */
  readonly loads?: NodeLoads | undefined;
  /** @throws if not reached in time (EB-209) */
  reach(index: number): Promise<void>;
}

export interface EvaluationRunDeps {
  readonly planner: Planner;
  readonly snapshots: Snapshots;
  readonly clock: Clock;
  /** Of the delivery, as the broker answered it. */
  readonly dueNs: number;
  readonly newId: () => string;
  /** Wraps the pure scheduling pass, for its span and timing. */
  readonly timed?: (attempt: () => Attempt) => Attempt;
}

/** A plan was committed in part, and the answer names no index to wait for before another attempt (EB-212). */
export class MissingRefreshError extends Error {
  override readonly name = 'MissingRefreshError';
  constructor() {
    super('missing state refresh after partial commit');
  }
}

/**
 * Works on one delivered evaluation: makes attempts until one is committed whole or there is nothing left to do
 * (sections 9.2 to 9.4 of the evaluations reference). Used for one delivery. The caller writes the resulting evaluation
 * and acks if it resolves, and nacks if it rejects.
 *
 * Limits: MAX_ATTEMPTS without progress. Every wait has a limit of its own.
 */
export class EvaluationRun {
  /** Index of the first snapshot, which evaluations written later in this run carry (EB-213). */
  private readonly snapshotIndex: number;
  private blockedEvalId = '';
  /** ID of the deployment that one of this run's plans committed (EB-224). */
  private deploymentId = '';
  private result: PlanResult | undefined;

  constructor(
    private readonly evaluation: Evaluation,
    private readonly deps: EvaluationRunDeps,
  ) {
    this.snapshotIndex = deps.snapshots.appliedIndex;
  }

  /**
   * @returns the evaluation to write; undefined: it is blocked again, and nothing is written
   * @throws any refusal or error of the broker, UnknownSchedulerError, MissingRefreshError
   */
  async runAttempts(): Promise<Evaluation | undefined> {
    const { evaluation } = this;
    const { snapshots } = this.deps;
    const type = schedulerTypeFor(evaluation, snapshots.tables);
    if (!acceptsTrigger(type, evaluation.TriggeredBy))
      return this.endedEvaluation('failed', `scheduler cannot handle '${evaluation.TriggeredBy}' evaluation reason`);
    let last: Attempt | undefined;
    for (let left = MAX_ATTEMPTS[type]; left > 0; left--) {
      last = this.runAttempt(type);
      if (last.isNoop && !evaluation.AnnotatePlan) return this.finishSuccessfully(type, last);
      this.result = await this.deps.planner.submitPlan(last.plan);
      if (this.result.AllocIndex !== 0) this.deploymentId = this.result.Deployment?.ID ?? this.deploymentId;
      const whole = isFullCommit(last.plan, this.result) && this.result.RefreshIndex === 0;
      if (whole && !last.truncated) return this.finishSuccessfully(type, last);
      if (madeProgress(this.result)) left = MAX_ATTEMPTS[type] + 1; // progress resets the count (EB-211)
      if (whole) await snapshots.reach(this.result.AllocIndex);
      else if (this.result.RefreshIndex !== 0) await snapshots.reach(this.result.RefreshIndex);
      else if (type === 'service' || type === 'batch') throw new MissingRefreshError();
    }
    return this.giveUp(type, last);
  }

  private runAttempt(type: SchedulerType): Attempt {
    const { snapshots, newId } = this.deps;
    this.result = undefined;
    const pass = (): Attempt =>
      schedule(type, {
        evaluation: this.evaluation,
        tables: snapshots.tables,
        loads: snapshots.loads,
        index: snapshots.appliedIndex,
        nowNs: this.nowNs,
        newId,
      });
    return this.deps.timed ? this.deps.timed(pass) : pass();
  }

  /**
   * The broker's clock decides when a delayed evaluation is due. By a slower clock of a worker, the reason for the
   * delay (the end of a disconnect window, SC-191; a failed allocation, SC-171) might still be in the future, and
   * nothing would schedule it again.
   */
  private get nowNs(): number {
    return Math.max(nsFromMs(this.deps.clock.nowMs()), this.deps.dueNs);
  }

  private async finishSuccessfully(type: SchedulerType, attempt: Attempt): Promise<Evaluation | undefined> {
    const isSystem = type === 'system' || type === 'sysbatch';
    if (!isSystem && this.evaluation.Status === 'blocked' && attempt.blocked[0])
      return this.reblockEvaluation(attempt, attempt.blocked[0]);
    await this.createBlocked(type, attempt, isSystem);
    return this.endedEvaluation('complete', '', attempt);
  }

  /** Creates the blocked evaluation for what was not placed (SC-31, SC-35, EB-221). */
  private async createBlocked(type: SchedulerType, attempt: Attempt, isSystem: boolean): Promise<void> {
    // A delayed evaluation that comes early waits for its own follow-ups (SC-31).
    const now = nsFromMs(this.deps.clock.nowMs());
    if (!isSystem && attempt.followups.length > 0 && now <= nsFromRfc3339(this.evaluation.WaitUntil)) return;
    for (const blocked of attempt.blocked) {
      const created = this.blockedEval(type, blocked, 'queued-allocs', BLOCKED_REMAINING);
      await this.deps.planner.createEval(created);
      if (!isSystem) this.blockedEvalId = created.ID; // the delivered evaluation names it (EB-21)
    }
  }

  /** Fails the evaluation after MAX_ATTEMPTS, with a blocked evaluation that tries again later (EB-223, SC-22). */
  private async giveUp(type: SchedulerType, last: Attempt | undefined): Promise<Evaluation> {
    if (type === 'service' || type === 'batch') {
      const created = this.blockedEval(type, last?.blocked[0], 'max-plan-attempts', BLOCKED_CONFLICTS);
      await this.deps.planner.createEval(created);
      this.blockedEvalId = created.ID;
    }
    return this.endedEvaluation('failed', `maximum attempts reached (${MAX_ATTEMPTS[type]})`, last);
  }

  /** Blocks the same evaluation again, with the findings of this run (EB-216 to EB-219). */
  private async reblockEvaluation(attempt: Attempt, blocked: BlockedBy): Promise<undefined> {
    const queued = queuedAfter(attempt.wanted, this.result);
    const { Namespace, JobID } = this.evaluation;
    const summary = this.deps.snapshots.tables.job_summary.get(namespacedKey(Namespace, JobID))?.Summary;
    const changed = Object.entries(queued).some(([group, n]) => {
      const stored = summary?.[group];
      return stored !== undefined && stored.Queued !== n;
    });
    const evaluation: Evaluation = {
      ...this.evaluation,
      ...eligibilityOf(blocked),
      FailedTGAllocs: attempt.failedGroups,
      QueuedAllocations: queued,
      SnapshotIndex: this.snapshotIndex,
      ModifyTime: this.modifyTime(),
    };
    if (changed) await this.deps.planner.updateEval(evaluation);
    await this.deps.planner.reblockEval(evaluation);
  }

  /** The evaluation with its final status (SC-23, EB-214). */
  private endedEvaluation(status: 'complete' | 'failed', description: string, attempt?: Attempt): Evaluation {
    const followup = this.committedFollowup(attempt);
    return {
      ...this.evaluation,
      Status: status,
      StatusDescription: description,
      FailedTGAllocs: attempt?.failedGroups ?? {},
      QueuedAllocations: attempt ? queuedAfter(attempt.wanted, this.result) : {},
      PlanAnnotations: attempt?.annotations ?? null,
      BlockedEval: this.blockedEvalId,
      DeploymentID: this.deploymentId || this.latestDeploymentId(attempt) || this.evaluation.DeploymentID,
      NextEval: followup ?? this.evaluation.NextEval,
      SnapshotIndex: this.snapshotIndex,
      ModifyTime: this.modifyTime(),
    };
  }

  /** ID of the follow-up evaluation, if its plan was committed (EB-22). */
  private committedFollowup(attempt: Attempt | undefined): string | undefined {
    const { tables } = this.deps.snapshots;
    if (!attempt || !this.result) return undefined;
    const named = new Set(
      [...Object.values(this.result.NodeUpdate), ...Object.values(this.result.NodeAllocation)]
        .flat()
        .map((alloc) => alloc.FollowupEvalID),
    );
    return attempt.followups.findLast(({ ID }) => named.has(ID) || tables.evals.has(ID))?.ID;
  }

  private blockedEval(
    type: SchedulerType,
    blocked: BlockedBy | undefined,
    trigger: 'queued-allocs' | 'max-plan-attempts',
    description: string,
  ): Evaluation {
    return blockedEvaluation(this.evaluation, blocked, {
      type,
      trigger,
      description,
      snapshotIndex: this.snapshotIndex,
      id: this.deps.newId(),
      nowNs: nsFromMs(this.deps.clock.nowMs()),
    });
  }

  /**
   * ID of the newest stored deployment, also if this evaluation did not create it: clients follow it after a job was
   * evaluated or stopped, or an allocation stopped (SC-23). A batch job has none (SC-244).
   */
  private latestDeploymentId(attempt: Attempt | undefined): string | undefined {
    const { Namespace, JobID } = this.evaluation;
    return attempt && latestDeployment(namespacedKey(Namespace, JobID), this.deps.snapshots.tables)?.ID;
  }

  private modifyTime(): number {
    return modifyTimeOf(this.evaluation, nsFromMs(this.deps.clock.nowMs()));
  }
}

/** Whether the plan was committed at least in part (SC-21). */
function madeProgress(result: PlanResult): boolean {
  return (
    Object.keys(result.NodeUpdate).length > 0 ||
    Object.keys(result.NodeAllocation).length > 0 ||
    result.Deployment !== null ||
    result.DeploymentUpdates.length > 0
  );
}
