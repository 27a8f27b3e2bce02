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
 * A work order: look at this job again. Inside, every field is present; the wire form leaves out zero values (EB-1).
 * `Wait` nanoseconds, `WaitUntil` RFC 3339, `CreateTime` and `ModifyTime` unix nanoseconds.
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
  /** Never leaves the services (EB-4). */
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

/** A pending evaluation with everything else empty; indexes are set when it is committed. `ModifyTime` = `CreateTime`. */
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
 * When the evaluation was modified, unix ns: now, or just after its creation if another service's clock made that later
 * (EB-16). A number holds an instant of today to 256 ns only, so a single nanosecond more would be lost.
 */
export function modifyTimeOf({ CreateTime }: Pick<Evaluation, 'CreateTime'>, nowNs: number): number {
  return nowNs > CreateTime ? nowNs : CreateTime + NS_PER_MS;
}
