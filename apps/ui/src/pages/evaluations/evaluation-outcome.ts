import type { AllocMetric, Evaluation } from '../../api/contract.js';

/** Returns the result of an evaluation in a sentence. */
export function outcomeOf(evaluation: Evaluation): string {
  const { Status, StatusDescription = '', FailedTGAllocs = {}, BlockedEval = '' } = evaluation;
  const unplaced = unplacedOf(FailedTGAllocs);
  switch (Status) {
    case 'pending':
      return waits(evaluation) ? 'Waits for its time' : 'Waits for a scheduler';
    case 'blocked':
      return 'Waits for room: it is tried again when a machine changes';
    case 'canceled':
      return StatusDescription || 'Another evaluation of the job took its place';
    case 'failed':
      return StatusDescription || 'No scheduler could finish it';
    case 'complete':
      if (unplaced === 0) return StatusDescription || 'Done';
      return BlockedEval === '' ? `${unplaced} not placed` : `${unplaced} not placed, the rest waits for room`;
  }
}

const waits = ({ WaitUntil, Wait = 0 }: Evaluation): boolean => Wait > 0 || (WaitUntil ?? '') !== '';

/** Returns the number of allocations that found no place. */
export const unplacedOf = (failed: Readonly<Record<string, AllocMetric>>): number =>
  Object.values(failed).reduce((sum, { CoalescedFailures }) => sum + CoalescedFailures + 1, 0);

const REASONS: Readonly<Record<string, string>> = {
  'job-register': 'the job was registered',
  'job-deregister': 'the job was stopped',
  'periodic-job': 'its time came',
  'node-update': 'a machine changed',
  'node-drain': 'a machine is drained',
  'alloc-stop': 'somebody stopped an allocation',
  'alloc-failure': 'an allocation failed',
  'deployment-watcher': 'its deployment went on',
  'queued-allocs': 'allocations wait for room',
  'max-plan-attempts': 'others took the room meanwhile',
  'retry-failed-alloc': 'a failed allocation is due again',
  'failed-follow-up': 'an evaluation failed before',
  'max-disconnect-timeout': 'a machine was away too long',
  reconnect: 'a machine came back',
  'job-scaling': 'the job was scaled',
  scheduled: 'it was due',
  preemption: 'it had to make room',
};

/** Returns why there was an evaluation. It is the API's own word if there is no better one. */
export const causeOf = ({ TriggeredBy }: Pick<Evaluation, 'TriggeredBy'>): string =>
  REASONS[TriggeredBy] ?? TriggeredBy;
