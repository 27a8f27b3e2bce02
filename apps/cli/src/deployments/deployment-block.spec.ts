import type { DeploymentState } from '@waybill/model';
import { expect, it } from 'vitest';
import { deployedTable } from './deployment-block.js';

it('CL-613: the deadline of a group: a time, from the first placement on, or none', () => {
  const group = (ProgressDeadline: number, RequireProgressBy: string | null) =>
    ({ ProgressDeadline, RequireProgressBy, DesiredTotal: 1 }) as DeploymentState;
  const TaskGroups = {
    placed: group(6e11, '2026-11-26T12:00:00Z'),
    waits: group(6e11, null),
    without: group(0, null),
  };
  const rows = deployedTable({ TaskGroups }).split('\n');
  const deadlines = rows.slice(1).map((row) => row.split(/ {2,}/).at(-1));
  expect(deadlines).toEqual([expect.stringMatching(/^2026-11-26T/), 'from first placement', 'N/A']);
});
