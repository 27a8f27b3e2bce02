import {
  countOverNodes,
  isFullCommit,
  isNoopPlanResult,
  type Allocation,
  type Clock,
  type Job,
  type Plan,
  type PlanResult,
  type Timers,
  Refusal,
  pause,
} from '@waybill/model';
import type { HolderWriter } from '@waybill/roles';
import { type NodeLoads, namespacedKey, type StepLine, versionKey, type Tables } from '@waybill/state';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import { noMeter, type Meter } from '../meter.js';
import { OptimisticState, type PlanInFlight, type PlanReferences } from './optimistic-state.js';
import { payloadOf, type PlanPayload } from './plan-payload.js';
import type { PendingPlan, PlanQueue } from './plan-queue.js';
import { verifyPlan, type Verification } from './plan-verification.js';
import type { RejectionTracker } from './rejection-tracker.js';

/** A plan fails if this copy of the state has not reached the plan's snapshot after this long (EB-243). */
export const APPLIER_WAIT_MS = 10_000;
/** Pause between two attempts to find out what the log holds, after a write of unknown outcome. */
export const SETTLE_RETRY_MS = 500;

/** Accepted plans that may be in flight while the next one is verified (EB-262). */
export const PIPELINE_DEPTH = 1;

export interface PlanApplierDeps {
  readonly queue: PlanQueue;
  readonly tables: Tables;
  /** Follows the changes of `tables`. */
  readonly loads: NodeLoads;
  readonly waitFor: (index: number, timeoutMs: number) => Promise<void>;
  readonly writer: HolderWriter;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly rejections: RejectionTracker;
  /** At least 1. */
  readonly pipelineDepth?: number;
  readonly meter?: Meter;
}

/** A verified plan, with the part of it to commit. */
interface VerifiedPlan {
  readonly plan: Plan;
  readonly result: PlanResult<Allocation>;
  readonly payload: PlanPayload;
}

/**
 * Verifies plans one after another against the newest state, and commits the accepted part of each as one transaction
 * (EB-242, EB-261). It is the only writer of placements, so two accepted plans never overcommit a node.
 *
 * Modes: running (from `applyPlans` until the queue is disabled), or settling. A plan is queued → verified → waiting for a
 * place in the pipeline → in flight → answered. While plans are in flight the next one is verified on top of them (see
 * OptimisticState). A plan that depends on what they free or create waits for them, and so does a plan that is rejected
 * because of them, as its refresh index must include them.
 * After a write of unknown outcome the applier is settling: no plan is verified until a later transaction of its own was
 * applied, because only then is the doubtful plan either in the state or lost for good (EB-264).
 * Limit: pipelineDepth plans in flight. Cost of a plan: see `verifyPlan`.
 */
export class PlanApplier {
  private previousPlanIndex = 0;
  /** Set while the outcome of a write is unknown. */
  private settling: Promise<void> | undefined;
  private readonly view: OptimisticState;
  private readonly commits = new Set<Promise<void>>();
  private readonly depth: number;
  private readonly meter: Meter;

  constructor(private readonly deps: PlanApplierDeps) {
    this.view = new OptimisticState(deps.tables, deps.loads);
    this.depth = Math.max(1, deps.pipelineDepth ?? PIPELINE_DEPTH);
    this.meter = deps.meter ?? noMeter;
  }

  /** Applies the queue's plans. Resolves when the queue is disabled and every plan in flight is answered; never rejects. */
  async applyPlans(): Promise<void> {
    const { queue } = this.deps;
    for (let next = await queue.dequeue(); next; next = await queue.dequeue()) await this.apply(next);
    await this.drain();
  }

  /** Resolves as soon as the next plan may be verified, which may be before this one is committed. */
  private async apply(pending: PendingPlan): Promise<void> {
    const { plan } = pending;
    this.meter.observe('plan.outstanding_apply', this.view.size);
    try {
      const verified = await this.verify(pending);
      if (isNoopPlanResult(verified.result)) {
        pending.answer(verified.result);
        return;
      }
      while (this.view.size >= this.depth) await Promise.race(this.commits);
      this.startCommit(pending, {
        plan,
        ...verified,
        payload: payloadOf(plan, verified.job, verified.result, this.deps),
      });
    } catch (error) {
      this.fail(pending, error);
    }
  }

  private async verify({ plan, submission }: PendingPlan): Promise<Verification & { job: Job | null }> {
    await this.waitForSnapshot(plan);
    const { tables } = this.deps;
    const job = plan.Job && jobVersionOf(tables, plan);
    if (this.view.size > 0 && this.view.dependsOnInFlight(referencesOf(plan))) await this.drain();
    const startedAt = this.deps.clock.nowMs();
    let verification = verifyPlan(plan, job, this.view);
    if (verification.rejected.length > 0 && this.view.size > 0) {
      await this.drain();
      verification = verifyPlan(plan, job, this.view);
    }
    const endedAt = this.deps.clock.nowMs();
    this.meter.observe('plan.evaluate', endedAt - startedAt);
    if (submission && startedAt > submission.submittedMs)
      submission.steps.add('queued', submission.submittedMs, startedAt);
    const { rejected, result } = verification;
    submission?.steps.add('checked', startedAt, endedAt, rejected.length, countOverNodes(result.NodeAllocation));
    for (const { nodeId, reason } of rejected) {
      this.deps.logger.info('plan does not fit node any more', { nodeId, reason, evalId: plan.EvalID });
      this.meter.nodeRejected(nodeId);
      // This plan marks the node ineligible (EB-288).
      if (this.deps.rejections.add(nodeId)) result.IneligibleNodes.push(nodeId);
    }
    return { ...verification, job };
  }

  private startCommit(pending: PendingPlan, verified: VerifiedPlan): void {
    const { plan } = verified;
    const startedAt = this.deps.clock.nowMs();
    const inFlight = this.view.begin(verified.payload);
    this.meter.observe('plan.optimistic_apply', this.deps.clock.nowMs() - startedAt);
    const attributes = { 'eval.id': plan.EvalID, 'job.id': plan.Job?.ID ?? '' };
    const options = { traceparent: pending.submission?.traceparent, attributes };
    const commit = withSpan(this.deps.tracer(), 'plan', options, () =>
      this.commit(verified, inFlight, pending.submission?.steps),
    )
      .then(pending.answer, (error: unknown) => this.fail(pending, error))
      .finally(() => this.commits.delete(commit));
    this.commits.add(commit);
  }

  private fail(pending: PendingPlan, error: unknown): void {
    this.deps.logger.warn('plan failed', { error, evalId: pending.plan.EvalID });
    pending.fail(error instanceof Error ? error : new Error(String(error)));
  }

  /** Waits until no plan is in flight and every outcome is known. */
  private async drain(): Promise<void> {
    while (this.commits.size > 0) await Promise.all(this.commits);
  }

  /** Commits a plan. Resolves when this copy of the state has it. The plan is in flight until its outcome is known. */
  private async commit(
    { plan, result, payload }: VerifiedPlan,
    inFlight: PlanInFlight,
    steps: StepLine | undefined,
  ): Promise<PlanResult> {
    const startedAt = this.deps.clock.nowMs();
    let AllocIndex: number;
    try {
      AllocIndex = await this.write(payload, plan, steps?.takeOf(plan.EvalID));
      steps?.add('committed', startedAt, this.deps.clock.nowMs(), AllocIndex);
    } finally {
      this.view.end(inFlight);
      this.meter.observe('plan.apply', this.deps.clock.nowMs() - startedAt);
    }
    this.previousPlanIndex = Math.max(this.previousPlanIndex, AllocIndex);
    const NodeAllocation = this.asCommitted(result.NodeAllocation);
    const isPartial = result.RefreshIndex !== 0 || !isFullCommit(plan, result) || this.placesOnLostNode(NodeAllocation);
    return {
      ...result,
      AllocIndex,
      RefreshIndex: isPartial ? Math.max(result.RefreshIndex, AllocIndex) : 0, // the worker refreshes to it (EB-254)
      NodeAllocation,
    };
  }

  /**
   * Whether a node with new allocations was lost after the plan was verified. The evaluations that the loss created may have
   * been processed before this plan was committed (EB-260), so the worker of this plan must look at the new allocations.
   */
  private placesOnLostNode(committed: PlanResult['NodeAllocation']): boolean {
    for (const [nodeId, allocs] of Object.entries(committed)) {
      const status = this.deps.tables.nodes.get(nodeId)?.Status;
      const isLost = status === undefined || status === 'down' || status === 'disconnected';
      if (isLost && allocs.some(({ CreateIndex, ModifyIndex }) => CreateIndex > 0 && CreateIndex === ModifyIndex))
        return true;
    }
    return false;
  }

  /** Waits until the state includes the snapshot of the plan and every earlier committed plan (EB-243). */
  private async waitForSnapshot(plan: Plan): Promise<void> {
    await this.settling;
    const index = Math.max(plan.SnapshotIndex, this.previousPlanIndex);
    const startedAt = this.deps.clock.nowMs();
    try {
      await this.deps.waitFor(index, APPLIER_WAIT_MS);
    } catch {
      throw new Refusal(
        'invalid',
        `timed out after ${APPLIER_WAIT_MS / 1000}s waiting for index=${index} (previous plan result ` +
          `index=${this.previousPlanIndex}; plan snapshot index=${plan.SnapshotIndex})`,
      );
    } finally {
      this.meter.observe('plan.wait_for_index', this.deps.clock.nowMs() - startedAt);
    }
  }

  private async write(payload: PlanPayload, plan: Plan, stepTimes: string | undefined): Promise<number> {
    try {
      return await withSpan(this.deps.tracer(), 'apply', {}, (span) =>
        this.deps.writer.write('ApplyPlanResults', payload, plan.Job?.Namespace, {
          traceparent: traceparentOf(span) ?? traceparentOf(),
          stepTimes,
        }),
      );
    } catch (error) {
      if (!(error instanceof Refusal)) await (this.settling ??= this.settle());
      throw error;
    }
  }

  /**
   * Finds out the outcome of a doubtful write (EB-264). The log orders our writes: once a later one is applied, the doubtful
   * one is in the state or never will be.
   */
  private async settle(): Promise<void> {
    await this.writeUntilApplied();
    this.settling = undefined;
  }

  private async writeUntilApplied(): Promise<void> {
    for (let settled = false; !settled;) {
      try {
        await this.deps.writer.write('Ignore', {});
        settled = true;
      } catch (error) {
        if (error instanceof Refusal) return; // the role is lost: no plan that we accept counts any more
        if (!this.deps.queue.isEnabled) return; // the term is over: no further plan is verified
        this.deps.logger.warn('outcome of a plan is unknown', { error });
        await pause(this.deps.timers, SETTLE_RETRY_MS);
      }
    }
  }

  /** The allocations with the indexes as stored, by which the scheduler recognizes new ones; 0 if it was not stored (EB-9). */
  private asCommitted(byNode: PlanResult<Allocation>['NodeAllocation']): PlanResult['NodeAllocation'] {
    // Filled one by one: `Object.fromEntries` takes ten times as long for a thousand ids.
    const committed: PlanResult['NodeAllocation'] = {};
    for (const [nodeId, allocs] of Object.entries(byNode))
      committed[nodeId] = allocs.map(({ ID, TaskGroup, FollowupEvalID }) => {
        const row = this.deps.tables.allocs.get(ID);
        const { CreateIndex, ModifyIndex } = row ?? NOT_STORED;
        return { ID, TaskGroup, FollowupEvalID, CreateIndex, ModifyIndex };
      });
    return committed;
  }
}

const NOT_STORED = { CreateIndex: 0, ModifyIndex: 0 } as const;

function referencesOf(plan: Plan): PlanReferences {
  const diffs = [...Object.values(plan.NodeUpdate), ...Object.values(plan.NodePreemptions)].flat();
  const placed = Object.values(plan.NodeAllocation).flat();
  return {
    nodes: new Set([...Object.keys(plan.NodeUpdate), ...Object.keys(plan.NodeAllocation)]),
    allocs: [...diffs, ...placed].map(({ ID }) => ID),
    deployments: [
      ...plan.DeploymentUpdates.map((u) => u.DeploymentID),
      ...(plan.Deployment ? [plan.Deployment.ID] : []),
    ],
    job: plan.Job ? namespacedKey(plan.Job.Namespace, plan.Job.ID) : '',
  };
}

/** The stored job version that the plan names (EB-239). @throws Refusal if the plan needs it and it is not stored (EB-238) */
export function jobVersionOf(tables: Tables, plan: Plan): Job | null {
  if (!plan.Job) return null;
  const { Namespace, ID, Version, CreateIndex } = plan.Job;
  const current = tables.jobs.get(namespacedKey(Namespace, ID));
  const stored = current?.Version === Version ? current : tables.job_version.get(versionKey(Namespace, ID, Version));
  if (stored && stored.CreateIndex === CreateIndex) return stored;
  if (Object.values(plan.NodeAllocation).some((allocs) => allocs.length > 0))
    throw new Refusal('invalid', `job "${ID}" in namespace "${Namespace}" not found`);
  return null;
}
