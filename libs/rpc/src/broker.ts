import {
  type Allocation,
  type Evaluation,
  type Plan,
  type PlanResult,
  putTogether,
  type ToldApart,
  toldApart,
  type WireObject,
} from '@waybill/model';
import { call, type WireForm } from './call.js';

/** How long a dequeue may wait at the broker before it answers "nothing". The asker's own limit is a second longer. */
export const DEQUEUE_WAIT_MS = 5_000;

/** Of the rules by which evaluations are worked on. Broker and worker must agree on it (EB-60). */
export const SCHEDULER_VERSION = 1;

export interface DequeueRequest {
  /** Scheduler types the worker runs: service, batch, system, sysbatch, _core. */
  readonly Schedulers: readonly string[];
  readonly TimeoutMs: number;
  readonly SchedulerVersion: number;
  /**
   * Id of the worker. It has nothing in hand when it asks: what it was handed last, and has not ended, comes back at
   * once. Without it an answer that is lost on its way holds its evaluation for the nack timeout.
   */
  readonly Worker?: string;
}
export interface DequeueResponse {
  /** null: nothing came up in time. */
  readonly Eval: Evaluation | null;
  /** Proves who works on it; void after the nack timeout. */
  readonly Token: string;
  /** The worker must have applied this index before it schedules. */
  readonly WaitIndex: number;
  /**
   * Unix ns: the latest time that the evaluation waited for, or one that it supersedes (EB-56); 0: none did. It has come by
   * the broker's clock, which decides; the worker's may be behind. Absent: from a broker of before.
   */
  readonly DueNs?: number;
  /** Trace of the transaction that made the evaluation, if this holder saw it live. */
  readonly Traceparent: string | null;
}
export interface EvalToken {
  readonly EvalID: string;
  readonly Token: string;
}
export interface EvalUpdateRequest {
  readonly Evals: readonly Evaluation[];
  /** Token of the evaluation being worked on. */
  readonly Token: string;
  /** What the worker has to tell of the delivery: text of a StepLine. */
  readonly Steps?: string | undefined;
}
export interface FinishRequest {
  /** What became of it. */
  readonly Eval: Evaluation;
  readonly Token: string;
  /** As of an update. */
  readonly Steps?: string | undefined;
  /** Scheduler types of which the worker takes another one; none: it wants no more now. */
  readonly NextOf: readonly string[];
  /** As in a dequeue: who is handed the next one. */
  readonly Worker?: string;
}
export interface IndexResponse {
  readonly Index: number;
}
export interface ForcePeriodicRequest {
  readonly Namespace: string;
  readonly JobID: string;
  /** Of the last transaction about the job: the holder looks at nothing older. */
  readonly AtIndex: number;
}
export interface ForcePeriodicResponse {
  readonly EvalID: string;
  /** Of the transaction that registered the child with its evaluation. */
  readonly Index: number;
}
export interface RenewLockRequest {
  readonly Namespace: string;
  readonly Path: string;
  readonly LockID: string;
  /** Of the last transaction about the variable: the holder looks at nothing older. */
  readonly AtIndex: number;
}
export interface RenewLockResponse {
  /** Metadata, as clients see it. */
  readonly Variable: WireObject;
  /** Of the last transaction about the variable. */
  readonly Index: number;
}
export interface ReachedRequest {
  readonly Index: number;
}
export interface ReachedResponse {
  /** Whether evaluations are handed out; false: paused. */
  readonly Enabled: boolean;
}
export interface SubmitPlanRequest {
  readonly Plan: Plan;
  /** As of an update. */
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
 * The common end of a delivery in one call: the evaluation is updated, its delivery acked, and the next one handed out if
 * it is ready at this moment. Refused as `updateEval` and `ack` would be; what was done before the refusal stays done.
 */
export const finish = call<FinishRequest, DequeueResponse>('broker.finish', { role });
export const updateEval = call<EvalUpdateRequest, IndexResponse>('broker.updateEval', { role });
export const createEval = call<EvalUpdateRequest, IndexResponse>('broker.createEval', { role });
export const reblockEval = call<EvalUpdateRequest, IndexResponse>('broker.reblockEval', { role });
/** Has everything collected that may go, whatever its age; answered when it is on its way (EB-147). */
export const forceGc = call<null, null>('broker.forceGc', { role });
/** Launches a periodic job now. Not to be asked twice: each ask is a launch. */
export const forcePeriodic = call<ForcePeriodicRequest, ForcePeriodicResponse>('broker.forcePeriodic', { role });
/** Starts the time of a variable's lock anew; writes nothing (OP-202). */
export const renewLock = call<RenewLockRequest, RenewLockResponse>('broker.renewLock', { role });
/** Answered once the holder has applied the index, and so obeys what it said (OP-21). */
export const reached = call<ReachedRequest, ReachedResponse>('broker.reached', { role });
/** The allocations of a plan are much alike, and each is on a node: they travel as one list. */
const plansInShort: WireForm<SubmitPlanRequest> = {
  write: ({ Plan: plan, ...rest }) => ({
    ...rest,
    Plan: { ...plan, NodeAllocation: toldApart(Object.values(plan.NodeAllocation).flat()) },
  }),
  read: (written) => {
    const { Plan: plan, ...rest } = written as Omit<SubmitPlanRequest, 'Plan'> & {
      Plan: Omit<Plan, 'NodeAllocation'> & { NodeAllocation: ToldApart };
    };
    const NodeAllocation: Plan['NodeAllocation'] = {};
    for (const alloc of putTogether<Allocation>(plan.NodeAllocation)) (NodeAllocation[alloc.NodeID] ??= []).push(alloc);
    return { ...rest, Plan: { ...plan, NodeAllocation } };
  },
};

export const submitPlan = call<SubmitPlanRequest, SubmitPlanResponse>('broker.submitPlan', {
  role,
  timeoutMs: 30_000,
  wireForm: plansInShort,
});
