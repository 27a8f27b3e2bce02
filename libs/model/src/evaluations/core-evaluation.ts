import { newEvaluation, type Evaluation } from './evaluation.js';

/** Type of housekeeping evaluations: never committed, so delivered as they were enqueued (EB-145). */
export const CORE_TYPE = '_core';
/** Of a namespace that no user can make: housekeeping belongs to nobody. */
export const CORE_NAMESPACE = '-';
/** Above every user's priority (GC-3). */
export const CORE_PRIORITY = 32_767;

/** What housekeeping there is; the value is the `JobID` of its evaluation (section 2 of the reference of collection). */
export const CORE_TASKS = [
  'eval-gc',
  'node-gc',
  'job-gc',
  'deployment-gc',
  'csi-plugin-gc',
  'csi-volume-claim-gc',
  'one-time-token-gc',
  'local-token-expired-gc',
  'global-token-expired-gc',
  'root-key-rotate-gc',
  'variables-rekey',
  'force-gc',
] as const;

export type CoreTask = (typeof CORE_TASKS)[number];

/** A work order for housekeeping (EB-145). @param given `index`: of the state it must be done on, at least */
export function coreEvaluation(
  task: CoreTask,
  given: { readonly id: string; readonly index: number; readonly nowNs: number; readonly leaderAcl: string },
): Evaluation {
  return newEvaluation({
    ID: given.id,
    Namespace: CORE_NAMESPACE,
    Priority: CORE_PRIORITY,
    Type: CORE_TYPE,
    TriggeredBy: 'scheduled',
    JobID: task,
    LeaderACL: given.leaderAcl,
    ModifyIndex: given.index,
    CreateTime: given.nowNs,
  });
}

/** The task a core evaluation names; data may follow behind a colon (EB-150). Undefined: there is none of this name. */
export function coreTaskOf({ JobID }: Pick<Evaluation, 'JobID'>): CoreTask | undefined {
  const name = JobID.split(':', 1)[0];
  return CORE_TASKS.find((task) => task === name);
}

/** What follows the task's name behind the colon (EB-150), such as the one volume it is about (GC-67). */
export function coreDataOf({ JobID }: Pick<Evaluation, 'JobID'>): string | undefined {
  const at = JobID.indexOf(':');
  return at < 0 ? undefined : JobID.slice(at + 1);
}
