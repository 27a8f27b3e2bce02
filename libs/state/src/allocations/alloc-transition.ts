import type { DesiredTransition } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { upsertEvaluation } from '../evaluations/eval-upsert.js';
import type { Write } from '../machine/write.js';

/**
 * Type 27: requests transitions of allocations from the scheduler (ST-111). The evaluations do not change the job's
 * status (ST-73).
 */
export function updateDesiredTransitions(
  w: Write,
  { Transitions, Evals }: TxnPayloads['AllocUpdateDesiredTransition'],
): void {
  for (const [id, wanted] of Object.entries(Transitions)) {
    const alloc = w.tables.allocs.get(id);
    if (!alloc) continue;
    w.put('allocs', {
      ...alloc,
      DesiredTransition: merged(alloc.DesiredTransition, wanted),
      ModifyIndex: w.index,
      AllocModifyIndex: w.index,
    });
  }
  for (const evaluation of Evals) upsertEvaluation(w, evaluation);
}

function merged(stored: DesiredTransition, wanted: DesiredTransition): DesiredTransition {
  return {
    Migrate: wanted.Migrate ?? stored.Migrate,
    Reschedule: wanted.Reschedule ?? stored.Reschedule,
    ForceReschedule: wanted.ForceReschedule ?? stored.ForceReschedule,
    NoShutdownDelay: wanted.NoShutdownDelay ?? stored.NoShutdownDelay,
    MigrateDisablePlacement: wanted.MigrateDisablePlacement ?? stored.MigrateDisablePlacement,
  };
}
