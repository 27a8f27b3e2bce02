import type { Allocation } from '@waybill/model';
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

it('SC-63, SC-98: an allocation that is told to stop is still on its node, but uses no property', () => {
  const { tables } = fixtures.aMachine();
  const node = fixtures.aNode({ Meta: { rack: 'red' } });
  const bare = fixtures.aNode();
  for (const one of [node, bare]) tables.nodes.replace(one.ID, one);
  const job = fixtures.aJob({ ID: 'web' });
  const store = (over: Partial<Allocation>): void => {
    const alloc = fixtures.anAlloc({ Job: job, NodeID: node.ID, ...over });
    tables.allocs.replace(alloc.ID, alloc);
  };
  store({ DesiredStatus: 'stop', ClientStatus: 'running' });
  store({ ClientStatus: 'complete' });
  store({ ClientStatus: 'failed' });
  store({ JobID: 'other' });
  store({ TaskGroup: 'beside' });
  store({ NodeID: bare.ID });
  const plan = new PlanDraft(tables);
  const own = new JobOnNodes(job, tables, plan);
  expect(['web', 'beside'].map((group) => own.count(node.ID, group))).toEqual([1, 1]);
  const uses = new PropertyUses(job, tables, plan);
  const ofRacks = (group?: string) => [...uses.counts('${meta.rack}', group)];
  expect([ofRacks('web'), ofRacks('beside'), ofRacks()]).toEqual([[], [['red', 1]], [['red', 1]]]);
});

it('SC-127: a value whose last use the plan stops stays, with 0 and never less', () => {
  const { tables } = fixtures.aMachine();
  const node = fixtures.aNode();
  tables.nodes.replace(node.ID, node);
  const alloc = fixtures.anAlloc({ NodeID: node.ID });
  tables.allocs.replace(alloc.ID, alloc);
  const plan = new PlanDraft(tables);
  const uses = new PropertyUses({ Namespace: 'default', ID: 'web' }, tables, plan);
  const counts = uses.counts('${node.datacenter}', 'web');
  plan.stop({ alloc, description: '' });
  expect([...uses.counts('${node.datacenter}', 'web')]).toEqual([['dc1', 0]]);
  plan.stop({ alloc, description: '' });
  expect([...uses.counts('${node.datacenter}', 'web')]).toEqual([['dc1', 0]]);
  expect(uses.counts('${node.datacenter}', 'web')).toBe(counts);
});
