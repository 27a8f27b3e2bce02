import { coreTaskOf, nsFromMs, NS_PER_HOUR, NS_PER_MS, type Clock, type Evaluation } from '@waybill/model';
import { MAX_REAPED_IDS } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { collectableEvaluations, type Collectable, type Cutoffs } from './collectable.js';

/** How long ended evaluations and allocations are kept (EB-152). */
export const EVAL_GC_THRESHOLD_NS = NS_PER_HOUR;
export const BATCH_EVAL_GC_THRESHOLD_NS = 24 * NS_PER_HOUR;
/** Of a forced collection: everything that ended before it. */
export const FORCED_THRESHOLD_NS = NS_PER_MS;

/** No housekeeping of this name (EB-150); the evaluation is nacked. */
export class UnknownCoreTaskError extends Error {
  override readonly name = 'UnknownCoreTaskError';
  constructor(readonly jobId: string) {
    super(`core scheduler cannot handle job '${jobId}'`);
  }
}

/** What one transaction removes. */
export interface ReapBatch {
  readonly evalIds: readonly string[];
  readonly allocIds: readonly string[];
  /** Index of the state that was looked at. */
  readonly scanIndex: number;
}

export interface CoreSchedulerDeps {
  readonly tables: Tables;
  readonly appliedIndex: number;
  readonly clock: Clock;
  readonly reap: (batch: ReapBatch) => Promise<void>;
}

/**
 * Does the housekeeping a core evaluation asks for, and leaves the evaluation as it is: it has no row, the ack is all
 * (EB-149). One look at the state, then one request after the other; the first that fails ends the run, and what is left
 * is found again by a later one. Only evaluations and their allocations are collected so far: the other kinds of
 * housekeeping find nothing to do.
 *
 * @throws UnknownCoreTaskError, whatever a request fails with
 */
export async function runCoreTask(evaluation: Evaluation, deps: CoreSchedulerDeps): Promise<void> {
  const task = coreTaskOf(evaluation);
  switch (task) {
    case undefined:
      throw new UnknownCoreTaskError(evaluation.JobID);
    case 'eval-gc':
      return collectEvaluations(deps, EVAL_GC_THRESHOLD_NS, BATCH_EVAL_GC_THRESHOLD_NS);
    case 'force-gc':
      return collectEvaluations(deps, FORCED_THRESHOLD_NS, FORCED_THRESHOLD_NS);
    case 'node-gc':
    case 'job-gc':
    case 'deployment-gc':
    case 'csi-plugin-gc':
    case 'csi-volume-claim-gc':
    case 'one-time-token-gc':
    case 'local-token-expired-gc':
    case 'global-token-expired-gc':
    case 'root-key-rotate-gc':
    case 'variables-rekey':
      return;
  }
}

async function collectEvaluations(deps: CoreSchedulerDeps, thresholdNs: number, batchNs: number): Promise<void> {
  const nowNs = nsFromMs(deps.clock.nowMs());
  const scanIndex = deps.appliedIndex;
  const cutoffs: Cutoffs = { evaluationNs: nowNs - thresholdNs, batchNs: nowNs - batchNs };
  const found = collectableEvaluations(deps.tables, nowNs, cutoffs);
  for (const batch of batchesOf(found, MAX_REAPED_IDS)) await deps.reap({ ...batch, scanIndex });
}

/** At most `limit` ids each, allocations first, so that no evaluation goes before its last allocation (EB-153). */
export function* batchesOf({ allocIds, evalIds }: Collectable, limit: number): Generator<Collectable> {
  const total = allocIds.length + evalIds.length;
  for (let from = 0; from < total; from += limit) {
    const evalsFrom = Math.max(0, from - allocIds.length);
    yield {
      allocIds: allocIds.slice(from, from + limit),
      evalIds: evalIds.slice(evalsFrom, Math.max(0, from + limit - allocIds.length)),
    };
  }
}
