import { newEvaluation, type AllocMetric, type Evaluation, type EvalTrigger } from '@waybill/model';
import type { BlockedBy } from './attempt.js';
import type { SchedulerType } from './schedule.js';

/** The fields of a blocked evaluation beside the reason why it is blocked. */
export interface BlockedTerms {
  readonly type: SchedulerType;
  readonly trigger: EvalTrigger;
  readonly description: string;
  /** Index of the snapshot that was scheduled on (SC-308). */
  readonly snapshotIndex: number;
  readonly id: string;
  readonly nowNs: number;
}

/**
 * The evaluation that waits for what another one could not place (SC-32). @param blocked undefined: any change may
 * unblock it
 */
export function blockedEvaluation(
  evaluation: Evaluation,
  blocked: BlockedBy | undefined,
  { type, trigger, description, snapshotIndex, id, nowNs }: BlockedTerms,
): Evaluation {
  const { Namespace, Priority, JobID, JobModifyIndex, ID } = evaluation;
  return newEvaluation({
    ID: id,
    Namespace,
    Priority,
    Type: type,
    TriggeredBy: trigger,
    JobID,
    JobModifyIndex,
    Status: 'blocked',
    StatusDescription: description,
    PreviousEval: ID,
    SnapshotIndex: snapshotIndex,
    NodeID: blocked?.nodeId ?? '',
    FailedTGAllocs: blocked?.failedGroups ?? ({} satisfies Record<string, AllocMetric>),
    CreateTime: nowNs,
    ...(blocked ? eligibilityOf(blocked) : { EscapedComputedClass: true }),
  });
}

/** The class eligibility of a blocked evaluation (SC-36). */
export function eligibilityOf(
  blocked: BlockedBy,
): Pick<Evaluation, 'ClassEligibility' | 'EscapedComputedClass' | 'MissingNonNodeResources' | 'QuotaLimitReached'> {
  return {
    ClassEligibility: blocked.escaped ? {} : blocked.classEligibility,
    EscapedComputedClass: blocked.escaped,
    MissingNonNodeResources: blocked.missingResources,
    QuotaLimitReached: '',
  };
}
