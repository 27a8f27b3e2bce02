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

/** A plan whose snapshot this copy has not reached after this long fails (EB-243). */
export const APPLIER_WAIT_MS = 10_000;
/** Between tries to find out what the log holds, after a write of unknown outcome. */
export const SETTLE_RETRY_MS = 500;

/** Accepted plans that may be on their way to the log while the next one is judged (EB-262). */
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

/** A plan that was judged, and what of it is to be committed. */
interface JudgedPlan {
  readonly plan: Plan;
  readonly result: PlanResult<Allocation>;
  readonly payload: PlanPayload;
}

/**
 * Takes plans one after another, judges each against the newest state, and commits what is left of it as one
 * transaction (EB-242, EB-261). The only writer of placements, so two accepted plans never overcommit a node.
 *
 * Modes: running (between `run` and the queue's end). Each plan: waiting for its turn → judged → waiting for a place in
 * the pipeline → in flight → answered. While plans are in flight the next one is judged on top of them (see
 * OptimisticState); one that would build on what they free or create waits for them, and so does one that they make
 * rejected, because its refresh index must name them.
 * After a write whose outcome is unknown the applier is settling: nothing is judged until a later transaction of its own
 * was applied, because only then is the plan in the state or lost for good (EB-264).
 * Limit: pipelineDepth plans in flight. Cost per plan: see `verifyPlan`.
 */
export class PlanApplier {
  private previousPlanIndex = 0;
  /** While the outcome of a write is being found out. */
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

  /** Ends when the queue is disabled and all that was in flight is answered. Never rejects. */
  async run(): Promise<void> {
    for (let next = await this.deps.queue.take(); next; next = await this.deps.queue.take()) await this.handle(next);
    await this.drain();
  }

  /** Returns as soon as the next plan may be judged. */
  private async handle(pending: PendingPlan): Promise<void> {
    const { plan } = pending;
    this.meter.observe('plan.outstanding_apply', this.view.size);
    try {
      const judged = await this.judge(pending);
      if (isNoopPlanResult(judged.result)) {
        pending.answer(judged.result);
        return;
      }
      while (this.view.size >= this.depth) await Promise.race(this.commits);
      this.dispatch(pending, { plan, ...judged, payload: payloadOf(plan, judged.job, judged.result, this.deps) });
    } catch (error) {
      this.refuse(pending, error);
    }
  }

  private async judge({ plan, submission }: PendingPlan): Promise<Verification & { job: Job | null }> {
    await this.reach(plan);
    const { tables } = this.deps;
    const job = plan.Job && jobVersionOf(tables, plan);
    if (this.view.size > 0 && this.view.restsOn(referencesOf(plan))) await this.drain();
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
      if (this.deps.rejections.add(nodeId)) result.IneligibleNodes.push(nodeId); // EB-288
    }
    return { ...verification, job };
  }

  private dispatch(pending: PendingPlan, judged: JudgedPlan): void {
    const { plan } = judged;
    const startedAt = this.deps.clock.nowMs();
    const inFlight = this.view.begin(judged.payload);
    this.meter.observe('plan.optimistic_apply', this.deps.clock.nowMs() - startedAt);
    const attributes = { 'eval.id': plan.EvalID, 'job.id': plan.Job?.ID ?? '' };
    const options = { traceparent: pending.submission?.traceparent, attributes };
    const commit = withSpan(this.deps.tracer(), 'plan', options, () =>
      this.commit(judged, inFlight, pending.submission?.steps),
    )
      .then(pending.answer, (error: unknown) => this.refuse(pending, error))
      .finally(() => this.commits.delete(commit));
    this.commits.add(commit);
  }

  private refuse(pending: PendingPlan, error: unknown): void {
    this.deps.logger.warn('plan failed', { error, evalId: pending.plan.EvalID });
    pending.fail(error instanceof Error ? error : new Error(String(error)));
  }

  /** Nothing is in flight any more, and the outcome of everything is known. */
  private async drain(): Promise<void> {
    while (this.commits.size > 0) await Promise.all(this.commits);
  }

  /** Resolves when the own copy of the state has the plan. The plan is in flight until its outcome is known. */
  private async commit(
    { plan, result, payload }: JudgedPlan,
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
    const inPart = result.RefreshIndex !== 0 || !isFullCommit(plan, result) || this.strands(NodeAllocation);
    return {
      ...result,
      AllocIndex,
      RefreshIndex: inPart ? Math.max(result.RefreshIndex, AllocIndex) : 0, // EB-254
      NodeAllocation,
    };
  }

  /**
   * A node was lost after the plan was judged. Who looks again because of the node may have done so before this plan was
   * there (EB-260), so the worker does, for what is new on it.
   */
  private strands(committed: PlanResult['NodeAllocation']): boolean {
    for (const [nodeId, allocs] of Object.entries(committed)) {
      const status = this.deps.tables.nodes.get(nodeId)?.Status;
      const isLost = status === undefined || status === 'down' || status === 'disconnected';
      if (isLost && allocs.some(({ CreateIndex, ModifyIndex }) => CreateIndex > 0 && CreateIndex === ModifyIndex))
        return true;
    }
    return false;
  }

  /** Waits until the state includes the snapshot of the plan and every earlier committed plan (EB-243). */
  private async reach(plan: Plan): Promise<void> {
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

  /** EB-264: the log orders our writes, so once a later one is applied the doubtful one is in the state or will never be. */
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
        if (error instanceof Refusal) return; // deposed: nothing we judge counts any more
        if (!this.deps.queue.isEnabled) return; // the term is over: nothing will be judged on top of it
        this.deps.logger.warn('outcome of a plan is unknown', { error });
        await pause(this.deps.timers, SETTLE_RETRY_MS);
      }
    }
  }

  /** EB-9: with the indexes as stored, so that the scheduler can tell new ones; 0 if the state left it out. */
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
    deployments: [...plan.DeploymentUpdates.map((u) => u.DeploymentID), plan.Deployment?.ID ?? '-'],
    job: plan.Job ? namespacedKey(plan.Job.Namespace, plan.Job.ID) : '',
  };
}

/** EB-239: the stored version that the plan names. @throws Refusal if it is needed and not stored (EB-238) */
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
