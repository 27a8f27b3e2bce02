import { newEvaluation, type Evaluation } from './evaluation.js';

/**
 * Type of housekeeping evaluations. They are never committed, so the broker delivers them as they were enqueued
 * (EB-145).
 */
export const CORE_TYPE = '_core';
/** Namespace of housekeeping evaluations. No user can create a namespace with this name. */
export const CORE_NAMESPACE = '-';
/** Priority of housekeeping evaluations, above every user's priority (GC-3). */
export const CORE_PRIORITY = 32_767;

/** The housekeeping tasks. The name is the `JobID` of the evaluation (section 2 of the reference of collection). */
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

/**
 * Returns an evaluation for a housekeeping task (EB-145). @param given `index`: the lowest index of the state that the
 * task may work on
 */
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

/**
 * Returns the task that a core evaluation names, or undefined if there is no such task. Data may follow the name after
 * a colon (EB-150).
 */
export function coreTaskOf({ JobID }: Pick<Evaluation, 'JobID'>): CoreTask | undefined {
  const name = JobID.split(':', 1)[0];
  return CORE_TASKS.find((task) => task === name);
}

/** Returns the data after the task's name and the colon (EB-150), for example the ID of a single volume (GC-67). */
export function coreDataOf({ JobID }: Pick<Evaluation, 'JobID'>): string | undefined {
  const at = JobID.indexOf(':');
  return at < 0 ? undefined : JobID.slice(at + 1);
}
