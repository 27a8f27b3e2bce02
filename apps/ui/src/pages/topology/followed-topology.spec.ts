import { expect, it } from 'vitest';
import type { Change } from '../../live/change.js';
import { newest, withChanges } from './followed-topology.js';

const change = (topic: string, key: string, index: number, over: Partial<Change> = {}): Change => ({
  topic,
  key,
  index,
  type: 'NodeRegistration',
  namespace: '',
  filterKeys: [],
  payload: {},
  ...over,
});
const NOTHING = { nodes: new Map(), allocations: new Map() };

it('an allocation that has ended takes no room, and a machine that is gone is no machine', () => {
  const node = { ID: 'n1', Name: 'n1', Datacenter: 'dc1', NodePool: 'default', Status: 'ready' };
  const running = { ID: 'a1', NodeID: 'n1', JobID: 'web', Namespace: 'default', ClientStatus: 'running' };
  const first = withChanges(NOTHING, [
    change('Node', 'n1', 1, { payload: { Node: node } }),
    change('Allocation', 'a1', 2, { payload: { Allocation: running } }),
  ]);
  expect(newest(new Map(), first.nodes)).toMatchObject([{ id: 'n1', datacenter: 'dc1' }]);
  expect(newest(new Map(), first.allocations)).toMatchObject([{ id: 'a1', nodeId: 'n1' }]);
  const second = withChanges(first, [
    change('Node', 'n1', 3, { type: 'NodeDeregistration', payload: { Node: node } }),
    change('Allocation', 'a1', 4, { payload: { Allocation: { ...running, ClientStatus: 'failed' } } }),
  ]);
  expect(newest(new Map(), second.nodes)).toEqual([]);
  expect(newest(new Map(), second.allocations)).toEqual([]);
});

it('what was read after an event is newer than the event', () => {
  const read = new Map([['a', { index: 5, object: 'read' }]]);
  expect(newest(read, new Map([['a', { index: 4, object: 'told' }]]))).toEqual(['read']);
  expect(newest(read, new Map([['a', { index: 6, object: 'told' }]]))).toEqual(['told']);
});
