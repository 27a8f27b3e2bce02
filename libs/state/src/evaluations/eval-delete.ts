import {
  type Allocation,
  type Evaluation,
  Filter,
  FilterEvaluationError,
  FilterSyntaxError,
  FilterTooExpensiveError,
  Refusal,
} from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { removeAllocation } from '../allocations/alloc-services.js';
import { isBatchResult } from '../allocations/batch-results.js';
import { isSafeToDelete } from './eval-safety.js';
import { recomputeJobStatus } from '../jobs/job-status.js';
import { AllocationCounts } from '../jobs/job-summary.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey, SINGLETON_KEY, type Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

type EvalDelete = TxnPayloads['EvalDelete'];

/** The verdict's result of a deletion by a user. */
export interface EvalDeleteResult {
  /** Number of deleted evaluations. */
  readonly Count: number;
  /** Where the next page of a deletion by filter begins; "" at the end. */
  readonly NextToken: string;
}

/**
 * Type 7: deletes evaluations by IDs or by filter (ST-96 to ST-98). Garbage collection leaves out rows that were
 * written since its scan, evaluations that keep an allocation (ST-16), and all records of a batch job that must stay
 * whole; a user's deletion is not compared with a scan.
 */
export function deleteEvaluations(w: Write, payload: EvalDelete): void {
  const byFilter = payload.Filter !== undefined;
  if ((payload.UserInitiated || byFilter) && !w.tables.scheduler_config.get(SINGLETON_KEY)?.PauseEvalBroker) {
    throw new Refusal('conflict', 'eval broker is enabled; eval broker must be paused to delete evals');
  }
  if (byFilter) w.result = deleteByFilter(w, payload);
  else {
    const count = deleteByIds(w, payload);
    if (payload.UserInitiated) w.result = { Count: count, NextToken: '' } satisfies EvalDeleteResult;
  }
}

function deleteByIds(w: Write, payload: EvalDelete): number {
  const { EvalIDs, AllocIDs, ScanIndex, UserInitiated } = payload;
  const kept = UserInitiated || payload.PartsOfJobs === true ? NO_JOBS : jobsToKeep(w.tables, payload);
  const stays = (row: Allocation | Evaluation): boolean =>
    !UserInitiated && (row.ModifyIndex > ScanIndex || kept.has(jobKeyOf(row)));
  const counts = new AllocationCounts(w);
  for (const id of AllocIDs) {
    const alloc = w.tables.allocs.get(id);
    if (!alloc || stays(alloc)) continue;
    removeAllocation(w, id);
    counts.forget(alloc);
  }
  counts.put();
  const deleted: Evaluation[] = [];
  for (const id of EvalIDs) {
    const evaluation = w.tables.evals.get(id);
    if (!evaluation || stays(evaluation)) continue;
    if (!UserInitiated && w.tables.allocs.count('eval', id) > 0) continue;
    if (w.remove('evals', id)) deleted.push(evaluation);
  }
  forgetIn(w, deleted);
  return deleted.length;
}

const NO_JOBS: ReadonlySet<string> = new Set();

const jobKeyOf = ({ Namespace, JobID }: Allocation | Evaluation): string => namespacedKey(Namespace, JobID);

/**
 * The batch jobs whose listed results must all stay, because the job or one of its results was written since the scan:
 * if some were deleted, its next evaluation would repeat their work (GC-38, GC-47).
 */
function jobsToKeep(tables: Tables, { AllocIDs, ScanIndex }: EvalDelete): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const id of AllocIDs) {
    const alloc = tables.allocs.get(id);
    const job = alloc && tables.jobs.get(jobKeyOf(alloc));
    if (!job || Math.max(job.ModifyIndex, alloc.ModifyIndex) <= ScanIndex) continue;
    if (isBatchResult(alloc, job)) kept.add(jobKeyOf(alloc));
  }
  return kept;
}

/**
 * Deletes a page of evaluations that match and are safe to delete, in the order of their creation; allocations stay
 * (ST-98). An evaluation that the filter cannot decide does not match. O(evaluations) comparisons, to sort a list that
 * is sorted already except for ties; the filter checks no more than it needs to fill the page.
 */
function deleteByFilter(
  w: Write,
  { Filter: text = '', PerPage = 0, NextToken = '', Namespace }: EvalDelete,
): EvalDeleteResult {
  const filter = parsed(text);
  const from = positionOf(NextToken);
  const candidates: Evaluation[] = [];
  for (const evaluation of w.tables.evals.all())
    if (isAtOrBehind(evaluation, from) && (!Namespace || evaluation.Namespace === Namespace))
      candidates.push(evaluation);
  const deleted: Evaluation[] = [];
  let next: Evaluation | undefined;
  for (const evaluation of oldestFirst(candidates)) {
    if (!matches(filter, evaluation) || !isSafe(w.tables, evaluation)) continue;
    if (deleted.length >= PerPage) {
      next = evaluation;
      break;
    }
    deleted.push(evaluation);
  }
  for (const { ID } of deleted) w.remove('evals', ID);
  forgetIn(w, deleted);
  return { Count: deleted.length, NextToken: next ? `${next.CreateIndex}.${next.ID}` : '' };
}

function forgetIn(w: Write, deleted: readonly Evaluation[]): void {
  for (const job of new Set(deleted.map((e) => namespacedKey(e.Namespace, e.JobID))))
    recomputeJobStatus(w, job, { evalsDeleted: true });
}

function isSafe(tables: Tables, { ID, Namespace, JobID }: Evaluation): boolean {
  return isSafeToDelete(tables.jobs.get(namespacedKey(Namespace, JobID)), () => tables.allocs.by('eval', ID));
}

function parsed(text: string): Filter {
  try {
    return Filter.parse(text);
  } catch (error) {
    if (error instanceof FilterSyntaxError)
      throw new Refusal('invalid', `failed to read filter expression: ${error.message}`);
    throw error;
  }
}

function matches(filter: Filter, evaluation: Evaluation): boolean {
  try {
    return filter.matches(evaluation);
  } catch (error) {
    if (error instanceof FilterEvaluationError || error instanceof FilterTooExpensiveError) return false;
    throw error;
  }
}

interface Position {
  readonly CreateIndex: number;
  readonly ID: string;
}

function positionOf(token: string): Position {
  if (token === '') return { CreateIndex: 0, ID: '' };
  const [, index, id = ''] = /^(\d{1,15})\.(.*)$/s.exec(token) ?? [];
  if (index === undefined) throw new Refusal('invalid', `not a place among evaluations: ${JSON.stringify(token)}`);
  return { CreateIndex: Number(index), ID: id };
}

const isAtOrBehind = (row: Position, from: Position): boolean =>
  row.CreateIndex > from.CreateIndex || (row.CreateIndex === from.CreateIndex && row.ID >= from.ID);
