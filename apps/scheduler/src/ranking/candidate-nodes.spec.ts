import type { Job, Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { candidatesFor, mayRunOn } from './candidate-nodes.js';

const jobIn = (NodePool: string, ...Datacenters: string[]): Pick<Job, 'NodePool' | 'Datacenters'> => ({
  NodePool,
  Datacenters: Datacenters.length > 0 ? Datacenters : ['*'],
});

describe('the candidates of a job', () => {
  const { tables } = fixtures.aMachine();
  const add = (Name: string, over: Partial<Node>): void => {
    const node = fixtures.aNode({ ID: fixtures.uuid(0x100 + tables.nodes.size), Name, ...over });
    tables.nodes.replace(node.ID, node);
  };
  add('a', { Datacenter: 'dc1' });
  add('b', { Datacenter: 'dc2' });
  add('c', { Datacenter: 'dc1' });
  add('d', { Datacenter: 'dc1', NodePool: 'gpu' });
  add('e', { Datacenter: 'east' });
  add('away', { Datacenter: 'dc1', Status: 'down' });

  it.each([
    ['SC-37: its pool', jobIn('default'), 'abce', { dc1: 2, dc2: 1, east: 1 }],
    ['SC-37: its datacenters', jobIn('default', 'dc2', 'east'), 'be', { dc2: 1, east: 1 }],
    ['SC-37: a pattern of datacenters', jobIn('default', 'dc*'), 'abc', { dc1: 2, dc2: 1 }],
    ['SC-39: every pool', jobIn('all', 'dc1'), 'acd', { dc1: 3 }],
    ['no pool named', jobIn('', 'dc1'), 'acd', { dc1: 3 }],
    ['another pool', jobIn('gpu'), 'd', { dc1: 1 }],
    ['a pool without nodes', jobIn('none'), '', {}],
  ])('%s: ready nodes in stored order, counted by datacenter (SC-40)', (_, job, names, perDatacenter) => {
    const found = candidatesFor(job, tables);
    expect(found.nodes.map(({ Name }) => Name).join('')).toBe(names);
    expect(found.perDatacenter).toEqual(perDatacenter);
  });
});

it.each([
  ['its own pool', jobIn('gpu'), true],
  ['the pool of all nodes', jobIn('all'), true],
  ['no pool', jobIn(''), true],
  ['another pool', jobIn('default'), false],
  ['another datacenter', jobIn('gpu', 'dc2'), false],
  ['one of its datacenters', jobIn('gpu', 'dc2', 'dc1'), true],
])('SC-252: whether a node still qualifies for a job, ready or not: %s', (_, job, qualifies) => {
  expect(mayRunOn(job, fixtures.aNode({ NodePool: 'gpu', Datacenter: 'dc1', Status: 'initializing' }))).toBe(qualifies);
});
