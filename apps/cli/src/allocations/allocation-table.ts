import type { Allocation, AllocListStub } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { runDeadline } from './run-deadline.js';
import { table } from '../terminal/table.js';

/** The members of an allocation for a row. All but the ID may be absent (CL-233, CL-410). */
export type AllocationRow = Pick<AllocListStub, 'ID'> &
  Partial<Omit<AllocListStub, 'ID'>> & { readonly Job?: Allocation['Job'] };

/** Adds their common job to the allocations of a list, which contain no jobs. */
export const ofJob = (allocs: readonly AllocListStub[], job: Allocation['Job']): readonly AllocationRow[] =>
  allocs.map((alloc) => ({ ...alloc, Job: job }));

/** Lists the allocations of a job, an evaluation or a node (CL-231, CL-232). */
export function allocationTable(rows: readonly AllocationRow[], display: Display): string {
  if (rows.length === 0) return 'No allocations placed';
  const { verbose } = display;
  const deadlines = rows.map(runDeadline);
  const limited = deadlines.some((deadline) => deadline !== undefined);
  const header = [
    'ID',
    ...(verbose ? ['Eval ID'] : []),
    'Node ID',
    ...(verbose ? ['Node Name'] : []),
    'Task Group',
    'Version',
    'Desired',
    'Status',
    'Created',
    'Modified',
    ...(limited ? ['Max Run Deadline'] : []),
  ];
  const cells = rows.map((alloc, at) => [
    display.id(alloc.ID),
    ...(verbose ? [alloc.EvalID ?? ''] : []),
    display.id(alloc.NodeID),
    ...(verbose ? [alloc.NodeName ?? ''] : []),
    alloc.TaskGroup ?? '',
    String(alloc.JobVersion ?? alloc.Job?.Version ?? 0),
    alloc.DesiredStatus ?? '',
    alloc.ClientStatus ?? '',
    display.time(alloc.CreateTime),
    display.time(alloc.ModifyTime),
    ...(limited ? [display.time(deadlines[at])] : []),
  ]);
  return table([header, ...cells]);
}
