import { NS_PER_MS } from '../time/clock.js';
import type { AllocListStub, AllocMetric } from './allocation.js';

export type EvalStatus = 'blocked' | 'pending' | 'complete' | 'failed' | 'canceled';

export type EvalTrigger =
  | 'job-register'
  | 'job-deregister'
  | 'periodic-job'
  | 'node-drain'
  | 'node-update'
  | 'alloc-stop'
  | 'scheduled'
  | 'rolling-update'
  | 'deployment-watcher'
  | 'failed-follow-up'
  | 'max-plan-attempts'
  | 'alloc-failure'
  | 'queued-allocs'
  | 'preemption'
  | 'job-scaling'
  | 'max-disconnect-timeout'
  | 'reconnect'
  | 'alloc-reschedule';

/**
 * A request to reconcile a job. Every field is present, and the wire form omits zero values (EB-1). `Wait` is in
 * nanoseconds, `WaitUntil` is RFC 3339, `CreateTime` and `ModifyTime` are in unix nanoseconds.
 */
export interface Evaluation {
  ID: string;
  Namespace: string;
  Priority: number;
  /** A job type, or `_core`. */
  Type: string;
  TriggeredBy: EvalTrigger;
  JobID: string;
  JobModifyIndex: number;
  NodeID: string;
  NodeModifyIndex: number;
  DeploymentID: string;
  Status: EvalStatus;
  StatusDescription: string;
  Wait: number;
  WaitUntil: string | null;
  NextEval: string;
  PreviousEval: string;
  BlockedEval: string;
  RelatedEvals: EvaluationStub[];
  FailedTGAllocs: Record<string, AllocMetric>;
  PlanAnnotations: PlanAnnotations | null;
  ClassEligibility: Record<string, boolean>;
  QuotaLimitReached: string;
  MissingNonNodeResources: string[];
  EscapedComputedClass: boolean;
  AnnotatePlan: boolean;
  QueuedAllocations: Record<string, number>;
  /** This token never leaves the services (EB-4). */
  LeaderACL: string;
  SnapshotIndex: number;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

export interface EvaluationStub {
  ID: string;
  Namespace: string;
  Priority: number;
  Type: string;
  TriggeredBy: EvalTrigger;
  JobID: string;
  NodeID: string;
  DeploymentID: string;
  Status: EvalStatus;
  StatusDescription: string;
  WaitUntil: string | null;
  NextEval: string;
  PreviousEval: string;
  BlockedEval: string;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

export interface PlanAnnotations {
  DesiredTGUpdates: Record<string, DesiredUpdates>;
  PreemptedAllocs: AllocListStub[] | null;
}

export interface DesiredUpdates {
  Ignore: number;
  Place: number;
  Migrate: number;
  Stop: number;
  InPlaceUpdate: number;
  DestructiveUpdate: number;
  Canary: number;
  Preemptions: number;
  Disconnect: number;
  Reconnect: number;
  RescheduleNow: number;
  RescheduleLater: number;
}

type IdentifyingFields = 'ID' | 'Namespace' | 'Priority' | 'Type' | 'TriggeredBy' | 'JobID' | 'CreateTime';

/**
 * Returns a pending evaluation with all other members empty. Its indexes are set when it is committed. `ModifyTime`
 * equals `CreateTime`.
 */
export function newEvaluation(
  given: Pick<Evaluation, IdentifyingFields> & Partial<Omit<Evaluation, IdentifyingFields>>,
): Evaluation {
  return {
    JobModifyIndex: 0,
    NodeID: '',
    NodeModifyIndex: 0,
    DeploymentID: '',
    Status: 'pending',
    StatusDescription: '',
    Wait: 0,
    WaitUntil: null,
    NextEval: '',
    PreviousEval: '',
    BlockedEval: '',
    RelatedEvals: [],
    FailedTGAllocs: {},
    PlanAnnotations: null,
    ClassEligibility: {},
    QuotaLimitReached: '',
    MissingNonNodeResources: [],
    EscapedComputedClass: false,
    AnnotatePlan: false,
    QueuedAllocations: {},
    LeaderACL: '',
    SnapshotIndex: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    ModifyTime: given.CreateTime,
    ...given,
  };
}

export function isTerminalEvaluation(evaluation: Pick<Evaluation, 'Status'>): boolean {
  return evaluation.Status === 'complete' || evaluation.Status === 'failed' || evaluation.Status === 'canceled';
}

/**
 * Returns the modification time of an evaluation in unix ns: now, or just after its creation if the clock of the
 * creating service was ahead (EB-16). A number represents present instants only to 256 ns, so adding a single
 * nanosecond would have no effect.
 */
export function modifyTimeOf({ CreateTime }: Pick<Evaluation, 'CreateTime'>, nowNs: number): number {
  return nowNs > CreateTime ? nowNs : CreateTime + NS_PER_MS;
}
