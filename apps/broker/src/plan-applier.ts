import {
  isFullCommit,
  isNoopPlanResult,
  nsFromMs,
  newEvaluation,
  type Allocation,
  type Clock,
  type Evaluation,
  type Job,
  type Plan,
  type PlanResult,
  type Timers,
} from '@waybill/model';
import { namespacedKey, versionKey, type Tables, type TxnPayloads } from '@waybill/state';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import { PlanRefusedError, WriteRejectedError } from './broker-errors.js';
import type { FencedWriter } from './fenced-writer.js';
import type { PendingPlan, PlanQueue } from './plan-queue.js';
import { verifyPlan } from './plan-verification.js';

/** A plan whose snapshot this copy has not reached after this long fails (EB-243). */
export const APPLIER_WAIT_MS = 10_000;
/** Between tries to find out what the log holds, after a write of unknown outcome. */
export const SETTLE_RETRY_MS = 500;

export interface PlanApplierDeps {
  readonly queue: PlanQueue;
  readonly tables: Tables;
  readonly waitFor: (index: number, timeoutMs: number) => Promise<void>;
  readonly writer: FencedWriter;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly onRejectedNode?: (nodeId: string) => void;
}

/**
 * Takes plans one after another, judges each against the newest state, and commits what is left of it as one
 * transaction (EB-242, EB-261). The only writer of placements, so two accepted plans never overcommit a node.
 *
 * Modes: running (between `run` and the queue's end) → waiting for a plan → judging → committing → waiting. After a write
 * whose outcome is unknown it is settling: nothing is judged until a later transaction of its own was applied, because
 * only then is the plan in the state or lost for good (EB-264).
 * One plan at a time: while one is committed the next waits, at most one commit long. Cost per plan: see `verifyPlan`.
 */
export class PlanApplier {
  private previousPlanIndex = 0;

  constructor(private readonly deps: PlanApplierDeps) {}

  /** Ends when the queue is disabled. Never rejects. */
  async run(): Promise<void> {
    for (let next = await this.deps.queue.take(); next; next = await this.deps.queue.take()) await this.handle(next);
  }

  private async handle(pending: PendingPlan): Promise<void> {
    const { plan } = pending;
    const attributes = { 'eval.id': plan.EvalID, 'job.id': plan.Job?.ID ?? '' };
    try {
      const options = { traceparent: pending.traceparent, attributes };
      pending.answer(await withSpan(this.deps.tracer(), 'plan', options, () => this.judgeAndCommit(plan)));
    } catch (error) {
      this.deps.logger.warn('plan failed', { error, evalId: plan.EvalID });
      pending.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async judgeAndCommit(plan: Plan): Promise<PlanResult> {
    await this.reach(plan);
    const { tables } = this.deps;
    const job = plan.Job && jobVersionOf(tables, plan);
    const { result, rejected } = verifyPlan(plan, job, tables);
    for (const { nodeId, reason } of rejected) {
      this.deps.logger.info('plan does not fit node any more', { nodeId, reason, evalId: plan.EvalID });
      this.deps.onRejectedNode?.(nodeId);
    }
    if (isNoopPlanResult(result)) return result;
    const payload = this.payloadOf(plan, job, result);
    result.AllocIndex = await this.commit(payload, plan);
    this.previousPlanIndex = result.AllocIndex;
    if (result.RefreshIndex !== 0 || !isFullCommit(plan, result))
      result.RefreshIndex = Math.max(result.RefreshIndex, result.AllocIndex); // EB-254
    result.NodeAllocation = this.asCommitted(result.NodeAllocation);
    return result;
  }

  /** EB-243. */
  private async reach(plan: Plan): Promise<void> {
    const index = Math.max(plan.SnapshotIndex, this.previousPlanIndex);
    try {
      await this.deps.waitFor(index, APPLIER_WAIT_MS);
    } catch {
      throw new PlanRefusedError(
        `timed out after ${APPLIER_WAIT_MS / 1000}s waiting for index=${index} (previous plan result ` +
          `index=${this.previousPlanIndex}; plan snapshot index=${plan.SnapshotIndex})`,
      );
    }
  }

  private async commit(payload: TxnPayloads['ApplyPlanResults'], plan: Plan): Promise<number> {
    try {
      return await withSpan(this.deps.tracer(), 'apply', {}, (span) =>
        this.deps.writer.write('ApplyPlanResults', payload, {
          namespace: plan.Job?.Namespace ?? '',
          traceparent: traceparentOf(span) ?? traceparentOf(),
        }),
      );
    } catch (error) {
      if (!(error instanceof WriteRejectedError)) await this.settle();
      throw error;
    }
  }

  /** EB-264: the log orders our writes, so once a later one is applied the doubtful one is in the state or will never be. */
  private async settle(): Promise<void> {
    for (let settled = false; !settled;) {
      try {
        await this.deps.writer.write('Ignore', {});
        settled = true;
      } catch (error) {
        if (error instanceof WriteRejectedError) return; // deposed: nothing we judge counts any more
        this.deps.logger.warn('outcome of a plan is unknown', { error });
        await new Promise<void>((resolve) => this.deps.timers.after(SETTLE_RETRY_MS, resolve));
      }
    }
  }

  private payloadOf(plan: Plan, job: Plan['Job'], result: PlanResult): TxnPayloads['ApplyPlanResults'] {
    const now = nsFromMs(this.deps.clock.nowMs());
    const placed = Object.values(result.NodeAllocation).flat();
    if (placed.length > 0 && !job) throw new PlanRefusedError('plan missing embedded job'); // EB-266
    const stopped = Object.values(result.NodeUpdate).flat();
    const preempted = Object.values(result.NodePreemptions).flat();
    const named = new Set([...placed, ...stopped].map((a) => a.FollowupEvalID));
    return {
      Job: placed.length > 0 ? job : null,
      AllocsUpdated: placed.map((alloc) => this.stamped(alloc, job, now)),
      AllocsStopped: stopped,
      AllocsPreempted: preempted,
      Deployment: result.Deployment,
      DeploymentUpdates: result.DeploymentUpdates,
      EvalID: plan.EvalID,
      PreemptionEvals: this.preemptionEvals(preempted, now),
      FollowupEvals: plan.FollowupEvals.filter((e) => named.has(e.ID)), // EB-22
      IneligibleNodes: result.IneligibleNodes,
      UpdatedAt: now,
    };
  }

  /** EB-267. The job travels once; a stored allocation that moves to another version says so by carrying it (EB-340). */
  private stamped(alloc: Allocation, job: Plan['Job'], now: number): Allocation {
    return {
      ...alloc,
      Job: alloc.Job && isSameVersion(alloc.Job, job) ? null : alloc.Job,
      CreateTime: alloc.CreateTime || now,
      ModifyTime: now,
    };
  }

  /** EB-280: one per job that lost an allocation, if the job is still there. */
  private preemptionEvals(preempted: readonly { ID: string }[], now: number): Evaluation[] {
    const evals = new Map<string, Evaluation>();
    for (const { ID } of preempted) {
      const alloc = this.deps.tables.allocs.get(ID);
      const key = alloc && namespacedKey(alloc.Namespace, alloc.JobID);
      const job = key === undefined ? undefined : this.deps.tables.jobs.get(key);
      if (!job || key === undefined || evals.has(key)) continue;
      evals.set(
        key,
        newEvaluation({
          ID: this.deps.newId(),
          Namespace: job.Namespace,
          JobID: job.ID,
          Priority: job.Priority,
          Type: job.Type,
          TriggeredBy: 'preemption',
          CreateTime: now,
        }),
      );
    }
    return [...evals.values()];
  }

  /** EB-9: as stored, so that the scheduler can tell new ones by their indexes. Left out if the state left them out. */
  private asCommitted(byNode: PlanResult['NodeAllocation']): PlanResult['NodeAllocation'] {
    return Object.fromEntries(
      Object.entries(byNode).map(([nodeId, allocs]) => [
        nodeId,
        allocs.map((alloc) => {
          const row = this.deps.tables.allocs.get(alloc.ID);
          return { ...alloc, Job: null, CreateIndex: row?.CreateIndex ?? 0, ModifyIndex: row?.ModifyIndex ?? 0 };
        }),
      ]),
    );
  }
}

function isSameVersion(a: Job, b: Job | null): boolean {
  return a.Version === b?.Version && a.CreateIndex === b.CreateIndex;
}

/** EB-239: the stored version that the plan names. @throws PlanRefusedError if it is needed and not stored (EB-238) */
export function jobVersionOf(tables: Tables, plan: Plan): Plan['Job'] {
  if (!plan.Job) return null;
  const { Namespace, ID, Version, CreateIndex } = plan.Job;
  const current = tables.jobs.get(namespacedKey(Namespace, ID));
  const stored = current?.Version === Version ? current : tables.job_version.get(versionKey(Namespace, ID, Version));
  if (stored && stored.CreateIndex === CreateIndex) return stored;
  if (Object.values(plan.NodeAllocation).some((allocs) => allocs.length > 0))
    throw new PlanRefusedError(`job "${ID}" in namespace "${Namespace}" not found`);
  return null;
}
