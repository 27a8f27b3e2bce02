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

/** Creates the delayed evaluations of one attempt (SC-174 to SC-176); the plan that names them commits them. */
export class FollowUps {
  readonly made: Evaluation[] = [];

  constructor(
    private readonly evaluation: Evaluation,
    private readonly nowNs: number,
    private readonly newId: () => string,
  ) {}

  /** The evaluation of each allocation, by its ID. O(due × log due). */
  cover(
    job: Pick<Job, 'ID' | 'Type' | 'ModifyIndex'>,
    due: readonly Due[],
    trigger: EvalTrigger,
    description: string,
  ): Map<string, string> {
    const evalIds = new Map<string, string>();
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
      evalIds.set(alloc.ID, batch.id);
    }
    return evalIds;
  }
}
