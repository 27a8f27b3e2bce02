/** Timers of section 16 that the broker's parts observe, by the contract's names. */
export type BrokerTimer =
  | 'broker.wait_time'
  | 'broker.process_time'
  | 'broker.response_time'
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
  | 'leader.establish_leadership';

export type Labels = Readonly<Record<string, string>>;

/** Where figures go. Logic sees only this. */
export interface Meter {
  /** Milliseconds; of `plan.outstanding_apply`, plans. */
  observe(timer: BrokerTimer, value: number, labels?: Labels): void;
  nodeRejected(nodeId: string): void;
}

export const noMeter: Meter = { observe: () => {}, nodeRejected: () => {} };

/** Value of the label `job`: dispatched and periodic children count as their parent. */
export function parentJob(jobId: string): string {
  const at = jobId.search(/\/(dispatch|periodic)-/);
  return at > 0 ? jobId.slice(0, at) : jobId;
}
