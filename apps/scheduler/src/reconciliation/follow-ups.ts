import {
  newEvaluation,
  NS_PER_SECOND,
  rfc3339FromNs,
  type Allocation,
  type Evaluation,
  type EvalTrigger,
  type Job,
} from '@waybill/model';

/** Delayed replacements that are due within this time share one follow-up evaluation (SC-174). */
export const FOLLOW_UP_WINDOW_NS = 5 * NS_PER_SECOND;

/** An allocation to reschedule later. Times in unix ns. */
export interface Due {
  readonly alloc: Allocation;
  readonly atNs: number;
}

/** An allocation, and the follow-up evaluation that looks at it. */
export interface Covered {
  readonly alloc: Allocation;
  readonly evalId: string;
}

/** The follow-up evaluations by allocation. */
export const evalIdsOf = (covered: readonly Covered[]): Map<string, string> =>
  new Map(covered.map(({ alloc, evalId }) => [alloc.ID, evalId]));

/** Creates the delayed evaluations of one attempt (SC-174 to SC-176); the plan that names them commits them. */
export class FollowUps {
  readonly made: Evaluation[] = [];

  constructor(
    private readonly evaluation: Evaluation,
    private readonly nowNs: number,
    private readonly newId: () => string,
  ) {}

  /** Covers each allocation by an evaluation. O(due × log due). */
  cover(
    job: Pick<Job, 'ID' | 'Type' | 'ModifyIndex'>,
    due: readonly Due[],
    trigger: EvalTrigger,
    description: string,
  ): Covered[] {
    const covered: Covered[] = [];
    let batch: { id: string; fromNs: number } | undefined;
    for (const { alloc, atNs } of due.toSorted((a, b) => a.atNs - b.atNs)) {
      if (!batch || atNs - batch.fromNs >= FOLLOW_UP_WINDOW_NS) {
        batch = { id: this.newId(), fromNs: atNs };
        this.made.push(
          newEvaluation({
            ID: batch.id,
            Namespace: this.evaluation.Namespace,
            Priority: this.evaluation.Priority,
            Type: job.Type,
            TriggeredBy: trigger,
            JobID: job.ID,
            JobModifyIndex: job.ModifyIndex,
            StatusDescription: description,
            WaitUntil: rfc3339FromNs(atNs),
            PreviousEval: this.evaluation.ID,
            CreateTime: this.nowNs,
          }),
        );
      }
      covered.push({ alloc, evalId: batch.id });
    }
    return covered;
  }
}
