import {
  type Allocation,
  type Evaluation,
  type Plan,
  type PlanResult,
  unpackObjects,
  type PackedObjects,
  packObjects,
  type WireObject,
} from '@waybill/model';
import { call, type WireForm } from './call.js';
import { needsInNamespace, needsManagement } from './user-needs.js';

/** Longest wait of a dequeue at the broker before it returns nothing. The worker's own timeout is a second longer. */
export const DEQUEUE_WAIT_MS = 5_000;

/** Version of the rules for processing evaluations. Broker and worker must agree on it (EB-60). */
export const SCHEDULER_VERSION = 1;

export interface DequeueRequest {
  /** Scheduler types that the worker runs: service, batch, system, sysbatch, _core. */
  readonly Schedulers: readonly string[];
  readonly TimeoutMs: number;
  readonly SchedulerVersion: number;
  /**
   * ID of the worker. A worker that dequeues has no evaluation in progress, so an evaluation that was delivered to it
   * and not ended returns to the queue at once. Without the ID, a lost response keeps its evaluation until the nack
   * timeout.
   */
  readonly Worker?: string;
}
/** Identifies a term of the role `broker` in the log. */
export interface DeliveryLease {
  readonly Epoch: number;
  /** Index of the transaction that began the term. */
  readonly Index: number;
}
export interface DequeueResponse {
  /** Null if no evaluation became ready in time. */
  readonly Eval: Evaluation | null;
  /** Identifies the delivery. Invalid after the nack timeout. */
  readonly Token: string;
  /** Index that the worker's replica must have before it schedules. */
  readonly WaitIndex: number;
  /**
   * The lease of the broker that delivers, as its replica has it. A replica without it has transactions that the log has
   * lost. Absent from brokers of an older version.
   */
  readonly Lease?: DeliveryLease | undefined;
  /**
   * In unix ns: the latest time for which the evaluation, or one that it supersedes, has waited (EB-56). 0 if none has.
   * By the broker's clock, which decides, the time has passed; the worker's clock may be behind. Absent from brokers of
   * an older version.
   */
  readonly DueNs?: number;
  /** Trace of the transaction that created the evaluation, if this holder saw it live. */
  readonly Traceparent: string | null;
}
export interface EvalToken {
  readonly EvalID: string;
  readonly Token: string;
}
export interface EvalUpdateRequest {
  readonly Evals: readonly Evaluation[];
  /** Token of the delivery in progress. */
  readonly Token: string;
  /** The worker's steps of the delivery, as text of a StepLine. */
  readonly Steps?: string | undefined;
}
export interface FinishRequest {
  /** The resulting evaluation. */
  readonly Eval: Evaluation;
  readonly Token: string;
  /** As in an update. */
  readonly Steps?: string | undefined;
  /** Scheduler types for which the worker takes another evaluation. Empty if it takes none now. */
  readonly NextOf: readonly string[];
  /** ID of the worker that gets the next evaluation, as in a dequeue. */
  readonly Worker?: string;
}
export interface IndexResponse {
  readonly Index: number;
}
export interface ForcePeriodicRequest {
  readonly Namespace: string;
  readonly JobID: string;
  /** Index of the last transaction about the job. The holder decides on no older state. */
  readonly AtIndex: number;
}
export interface ForcePeriodicResponse {
  readonly EvalID: string;
  /** Index of the transaction that registered the child with its evaluation. */
  readonly Index: number;
}
export interface RenewLockRequest {
  readonly Namespace: string;
  readonly Path: string;
  readonly LockID: string;
  /** Index of the last transaction about the variable. The holder decides on no older state. */
  readonly AtIndex: number;
}
export interface RenewLockResponse {
  /** Metadata in the form for clients. */
  readonly Variable: WireObject;
  /** Index of the last transaction about the variable. */
  readonly Index: number;
}
export interface ReachedRequest {
  readonly Index: number;
}
export interface ReachedResponse {
  /** Whether the broker delivers evaluations. False if it is paused. */
  readonly Enabled: boolean;
}
export interface SubmitPlanRequest {
  readonly Plan: Plan;
  /** As in an update. */
  readonly Steps?: string | undefined;
}
export interface SubmitPlanResponse {
  readonly Result: PlanResult;
}

const role = 'broker';
export const dequeue = call<DequeueRequest, DequeueResponse>('broker.dequeue', {
  role,
  timeoutMs: DEQUEUE_WAIT_MS + 1_000,
});
export const ack = call<EvalToken, null>('broker.ack', { role });
export const nack = call<EvalToken, null>('broker.nack', { role });
/**
 * Ends a delivery in one call: updates the evaluation, acknowledges its delivery, and delivers the next evaluation if
 * one is ready at this moment. It is refused for the same reasons as `updateEval` and `ack`; steps before the refusal
 * stay done.
 */
export const finish = call<FinishRequest, DequeueResponse>('broker.finish', { role });
export const updateEval = call<EvalUpdateRequest, IndexResponse>('broker.updateEval', { role });
export const createEval = call<EvalUpdateRequest, IndexResponse>('broker.createEval', { role });
export const reblockEval = call<EvalUpdateRequest, IndexResponse>('broker.reblockEval', { role });
/** Collects all garbage, whatever its age. Returns once the collection has started (EB-147). */
export const forceGc = call<null, null>('broker.forceGc', { role, userNeeds: needsManagement });
/** Launches a periodic job now. It must not be retried, because each call is a launch. */
export const forcePeriodic = call<ForcePeriodicRequest, ForcePeriodicResponse>('broker.forcePeriodic', {
  role,
  userNeeds: needsInNamespace('dispatch-job', 'submit-job', 'force-periodic-job'),
});
/** Restarts the TTL of a variable's lock. It writes nothing (OP-202). */
export const renewLock = call<RenewLockRequest, RenewLockResponse>('broker.renewLock', {
  role,
  userNeeds: ({ Namespace: namespace, Path: path }) => [
    { requirement: { kind: 'variable', capability: 'write' }, about: { namespace, path } },
  ],
});
/** Returns once the holder has applied the index and therefore obeys its content (OP-21). */
export const reached = call<ReachedRequest, ReachedResponse>('broker.reached', { role });
/** A plan travels as one list of allocations, because they are similar and each one names its node. */
const plansInShort: WireForm<SubmitPlanRequest> = {
  write: ({ Plan: plan, ...rest }) => ({
    ...rest,
    Plan: { ...plan, NodeAllocation: packObjects(Object.values(plan.NodeAllocation).flat()) },
  }),
  read: (written) => {
    const { Plan: plan, ...rest } = written as Omit<SubmitPlanRequest, 'Plan'> & {
      Plan: Omit<Plan, 'NodeAllocation'> & { NodeAllocation: PackedObjects };
    };
    const NodeAllocation: Plan['NodeAllocation'] = {};
    for (const alloc of unpackObjects<Allocation>(plan.NodeAllocation))
      (NodeAllocation[alloc.NodeID] ??= []).push(alloc);
    return { ...rest, Plan: { ...plan, NodeAllocation } };
  },
};

export const submitPlan = call<SubmitPlanRequest, SubmitPlanResponse>('broker.submitPlan', {
  role,
  timeoutMs: 30_000,
  wireForm: plansInShort,
});
