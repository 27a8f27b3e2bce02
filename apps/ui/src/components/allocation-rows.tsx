import { useMemo } from 'react';
import type { AllocListStub } from '../api/contract.js';
import { TimeAgo } from './clock.js';
import { AllocationLink, JobLink, NodeLink } from './object-links.js';
import { Card, Empty } from './page.js';
import { type Column, Rows } from './rows.js';
import { StateOf } from './status.js';

/** What the rows show; whole allocations have it, and so have the stubs of lists. */
export type AllocationRow = Pick<AllocListStub, 'ID' | 'JobID' | 'Namespace' | 'NodeID' | 'TaskGroup'> &
  Partial<Pick<AllocListStub, 'Name' | 'NodeName' | 'JobVersion' | 'ModifyTime' | 'CreateIndex'>> &
  Pick<AllocListStub, 'ClientStatus' | 'DesiredStatus'>;

const ID: Column<AllocationRow> = { title: 'Allocation', px: 84, cell: (alloc) => <AllocationLink id={alloc.ID} /> };
const JOB: Column<AllocationRow> = {
  title: 'Job',
  px: 100,
  share: 2,
  cell: (alloc) => <JobLink id={alloc.JobID} namespace={alloc.Namespace} />,
};
const NAME: Column<AllocationRow> = {
  title: 'Name',
  extra: true,
  px: 130,
  share: 2,
  cell: (alloc) => alloc.Name ?? alloc.TaskGroup,
};
const STATE: Column<AllocationRow> = {
  title: 'State',
  px: 104,
  cell: (alloc) => <StateOf state={alloc.ClientStatus} />,
};
const WANTED: Column<AllocationRow> = { title: 'Desired', extra: true, px: 62, cell: (alloc) => alloc.DesiredStatus };
const VERSION: Column<AllocationRow> = {
  title: 'Version',
  extra: true,
  px: 62,
  align: 'right',
  cell: (alloc) => alloc.JobVersion ?? '—',
};
const MACHINE: Column<AllocationRow> = {
  title: 'Machine',
  px: 90,
  share: 1,
  cell: (alloc) => <NodeLink id={alloc.NodeID} name={alloc.NodeName} />,
};
const CHANGED: Column<AllocationRow> = {
  title: 'Changed',
  extra: true,
  px: 90,
  align: 'right',
  cell: (alloc) => <TimeAgo time={alloc.ModifyTime} />,
};

const OF_JOB = [ID, NAME, STATE, WANTED, VERSION, MACHINE, CHANGED];
const OF_NODE = [ID, JOB, NAME, STATE, WANTED, CHANGED];

interface AllocationRowsProps {
  readonly rows: readonly AllocationRow[];
  /** What all of them have in common, and the rows leave out. */
  readonly of: 'job' | 'node';
}

/** Allocations, the newest first. */
export function AllocationRows({ rows, of }: AllocationRowsProps) {
  const sorted = useMemo(() => rows.toSorted((a, b) => (b.CreateIndex ?? 0) - (a.CreateIndex ?? 0)), [rows]);
  if (rows.length === 0)
    return (
      <Card>
        <Empty title="No allocations" />
      </Card>
    );
  return (
    <Rows label="Allocations" columns={of === 'job' ? OF_JOB : OF_NODE} rows={sorted} keyOf={(alloc) => alloc.ID} />
  );
}
