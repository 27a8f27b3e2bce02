import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { PlanDraft } from '../plan-draft.js';
import { JobOnNodes } from './job-on-nodes.js';
import { PropertyUses } from './property-uses.js';

it('SC-62, SC-97, SC-109: the allocations of a job on nodes and racks are counted as they will be with the plan', () => {
  const { tables } = fixtures.aMachine();
  const nodes = ['red', 'red', 'blue'].map((rack) => fixtures.aNode({ Meta: { rack } }));
  for (const node of nodes) tables.nodes.replace(node.ID, node);
  const job = fixtures.aJob({ ID: 'web' });
  const on = (at: number) => fixtures.anAlloc({ JobID: 'web', TaskGroup: 'web', NodeID: nodes[at]!.ID, Job: job });
  const stored = on(0);
  tables.allocs.replace(stored.ID, stored);
  const plan = new PlanDraft(tables);
  const own = new JobOnNodes(job, tables, plan);
  const uses = new PropertyUses(job, tables, plan);
  const counts = () => [
    ...nodes.map(({ ID }) => own.count(ID, 'web')),
    ...['red', 'blue'].map((rack) => uses.counts('${meta.rack}', 'web').get(rack) ?? 0),
  ];
  expect(counts()).toEqual([1, 0, 0, 1, 0]);
  plan.place(on(1));
  expect(counts()).toEqual([1, 1, 0, 2, 0]);
  plan.stop({ alloc: stored, description: 'moved' });
  expect(counts()).toEqual([0, 1, 0, 1, 0]);
  plan.place(on(2));
  expect(counts()).toEqual([0, 1, 1, 1, 1]);
  plan.withdrawStop(stored);
  expect(counts()).toEqual([1, 1, 1, 2, 1]);
  expect(own.count(nodes[0]!.ID, 'other')).toBe(0);
  expect(uses.counts('${meta.rack}', 'other').get('red') ?? 0).toBe(0);
});
