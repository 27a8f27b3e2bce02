import { type Allocation, newEvaluation, nsFromMs } from '@waybill/model';
import { namespacedKey, type Tables, type TxnPayloads } from '@waybill/state';
import { type EndedDrain, markOf } from './drain-decisions.js';
import { newNodeEvent } from '../node/new-node-event.js';
import { jobOf } from '../node/node-evaluations.js';

/** Most allocations and evaluations, or nodes, in one transaction (DR-72). */
export const MAX_IDS_PER_TXN = 7_281;

const DEADLINE_REACHED = { deadline_reached: 'true' };

type Marks = TxnPayloads['AllocUpdateDesiredTransition'];
type Completions = TxnPayloads['BatchNodeUpdateDrain'];

export interface MarkOptions {
  readonly nowMs: number;
  /** Makes the IDs of evaluations. */
  readonly newId: () => string;
  /** Most IDs of allocations and evaluations in one transaction. */
  readonly maxIds?: number;
}

/**
 * Transactions that mark these allocations, each with the evaluations of the jobs that it marks (DR-70, DR-72): if
 * writing ends between two of them, no marked allocation lacks its evaluation.
 */
export function markBatches(
  tables: Tables,
  allocs: Iterable<Allocation>,
  { nowMs, newId, maxIds = MAX_IDS_PER_TXN }: MarkOptions,
): Marks[] {
  const batches: Marks[] = [];
  let batch: Marks | undefined;
  let ids = 0;
  for (const ofJob of byJob(allocs)) {
    let evaluated: Marks | undefined;
    for (const alloc of ofJob) {
      const job = jobOf(tables, alloc);
      if (!job) continue;
      if (!batch || ids + (evaluated === batch ? 1 : 2) > maxIds) {
        batch = { Transitions: {}, Evals: [] };
        batches.push(batch);
        ids = 0;
      }
      if (evaluated !== batch) {
        const { ID: JobID, Namespace, Type, Priority } = job;
        const CreateTime = nsFromMs(nowMs);
        batch.Evals.push(
          newEvaluation({ ID: newId(), Namespace, JobID, Type, Priority, TriggeredBy: 'node-drain', CreateTime }),
        );
        evaluated = batch;
        ids++;
      }
      batch.Transitions[alloc.ID] = markOf(alloc, job);
      ids++;
    }
  }
  return batches;
}

/** Transactions that complete the drains of these nodes (DR-35, DR-60, DR-73). */
export function completionBatches(
  ended: readonly EndedDrain[],
  nowMs: number,
  maxIds = MAX_IDS_PER_TXN,
): Completions[] {
  const batches: Completions[] = [];
  for (let from = 0; from < ended.length; from += maxIds) {
    const batch: Completions = { Updates: {}, NodeEvents: {}, UpdatedAt: Math.floor(nowMs / 1_000) };
    for (const { node, strategy, deadlineReached } of ended.slice(from, from + maxIds)) {
      batch.Updates[node.ID] = { DrainStrategy: null, MarkEligible: false, StartedAt: strategy.StartedAt };
      batch.NodeEvents[node.ID] = newNodeEvent(
        'Drain',
        'Node drain complete',
        nowMs,
        deadlineReached ? DEADLINE_REACHED : null,
      );
    }
    batches.push(batch);
  }
  return batches;
}

function byJob(allocs: Iterable<Allocation>): Iterable<Allocation[]> {
  const jobs = new Map<string, Allocation[]>();
  for (const alloc of allocs) {
    const key = namespacedKey(alloc.Namespace, alloc.JobID);
    const ofJob = jobs.get(key);
    if (ofJob) ofJob.push(alloc);
    else jobs.set(key, [alloc]);
  }
  return jobs.values();
}
