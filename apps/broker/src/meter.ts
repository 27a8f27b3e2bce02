import type { Evaluation } from '@waybill/model';

/** Timers of one evaluation in the broker (section 16). */
export type EvalTimer = 'broker.wait_time' | 'broker.process_time' | 'broker.response_time';

/** Timers of section 16 that the broker's parts observe, by the contract's names. */
export type BrokerTimer =
  | 'plan.submit'
  | 'plan.evaluate'
  | 'plan.wait_for_index'
  | 'plan.optimistic_apply'
  | 'plan.apply'
  | 'plan.outstanding_apply'
  | 'eval.dequeue'
  | 'eval.ack'
  | 'eval.nack'
  | 'eval.update'
  | 'eval.create'
  | 'eval.reblock'
  | 'eval.reap'
  | 'leader.barrier'
  | 'leader.establish_leadership'
  | 'leader.revoke_leadership';

export type Labels = Readonly<Record<string, string>>;

/** Receives measurements. Code that measures depends on this interface only, and not on the metrics library. */
export interface Meter {
  /** Records a time in milliseconds, or for `plan.outstanding_apply` a number of plans. */
  observe(timer: BrokerTimer, value: number): void;
  /** Records a time in milliseconds. It gets the evaluation instead of labels, because it is called three times a delivery. */
  observeEval(timer: EvalTimer, value: number, evaluation: Evaluation): void;
  nodeRejected(nodeId: string): void;
}

export const noMeter: Meter = { observe: () => {}, observeEval: () => {}, nodeRejected: () => {} };

/** Value of the label `job`: dispatched and periodic children are counted under their parent. */
export function parentJob(jobId: string): string {
  const at = jobId.search(/\/(dispatch|periodic)-/);
  return at > 0 ? jobId.slice(0, at) : jobId;
}

export const labelsOf = (evaluation: Evaluation): Labels => ({
  job: parentJob(evaluation.JobID),
  namespace: evaluation.Namespace,
  eval_type: evaluation.Type,
  triggered_by: evaluation.TriggeredBy,
});
