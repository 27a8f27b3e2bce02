import type { Evaluation } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { table } from '../terminal/table.js';

/** An evaluation in a response, without members that are zero (EB-1). */
export type EvaluationAnswer = Pick<Evaluation, 'ID' | 'Status'> & Partial<Omit<Evaluation, 'ID' | 'Status'>>;

/** Returns `true`, `false`, or that the result is not known yet (CL-314). */
export function placementFailures(evaluation: EvaluationAnswer): string {
  if (evaluation.Status === 'blocked') return 'N/A - In Progress';
  return String(Object.keys(evaluation.FailedTGAllocs ?? {}).length > 0);
}

/** Lists the evaluations of one job (CL-314). */
export function evaluationTable(evaluations: readonly EvaluationAnswer[], display: Display): string {
  return table([
    ['ID', 'Priority', 'Triggered By', 'Status', 'Placement Failures'],
    ...evaluations.map((e) => [
      display.id(e.ID),
      String(e.Priority ?? 0),
      e.TriggeredBy ?? '',
      e.Status,
      placementFailures(e),
    ]),
  ]);
}

/** Lists evaluations of any job (CL-621). */
export function evaluationList(evaluations: readonly EvaluationAnswer[], display: Display): string {
  return table([
    ['ID', 'Priority', 'Triggered By', 'Job ID', 'Namespace', 'Node ID', 'Status', 'Placement Failures'],
    ...evaluations.map((e) => [
      display.id(e.ID),
      String(e.Priority ?? 0),
      e.TriggeredBy ?? '',
      e.JobID ?? '',
      e.Namespace ?? '',
      display.id(e.NodeID),
      e.Status,
      placementFailures(e),
    ]),
  ]);
}
