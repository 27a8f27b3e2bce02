import type { Evaluation, Job } from '../../api/contract.js';
import { placementFailureInWords } from '../../words/placement-failures.js';

/** GroupProblem says why a group does not have all its allocations. */
export interface GroupProblem {
  readonly group: string;
  /** The number of allocations that wait for a place. */
  readonly unplaced: number;
  /** The reasons in sentences. */
  readonly reasons: readonly string[];
  /** The evaluation that found the reasons. */
  readonly evaluation: string;
}

/**
 * Why allocations of a job are not placed. An evaluation that could not place everything leaves a blocked one behind, which
 * waits for room; as long as that is blocked, what the first one found is what is wrong. The newest of them counts.
 */
export function placementProblems(
  evaluations: readonly Evaluation[],
  job: Pick<Job, 'TaskGroups'>,
): readonly GroupProblem[] {
  const blocked = new Set(evaluations.filter(({ Status }) => Status === 'blocked').map(({ ID }) => ID));
  const isWaiting = ({ ID, BlockedEval = '' }: Evaluation): boolean => blocked.has(ID) || blocked.has(BlockedEval);
  const [newest] = evaluations
    .filter((one) => isWaiting(one) && Object.keys(one.FailedTGAllocs ?? {}).length > 0)
    .toSorted((a, b) => b.CreateIndex - a.CreateIndex);
  if (!newest) return [];
  return Object.entries(newest.FailedTGAllocs ?? {}).map(([group, metric]) => ({
    group,
    unplaced: metric.CoalescedFailures + 1,
    reasons: placementFailureInWords(
      metric,
      job.TaskGroups.find(({ Name }) => Name === group),
    ),
    evaluation: newest.ID,
  }));
}
