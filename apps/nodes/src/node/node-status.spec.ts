import { type Allocation, type Node, type NodeStatus, rfc3339FromMs } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  isInDisconnectWindow,
  isNodeStatus,
  isWaitingForPool,
  lostStatus,
  registrationNeedsEvaluations,
  resultingStatus,
} from './node-status.js';

const NOW_MS = 1_800_000_000_000;
const LOST_AFTER_MS = 60_000;
const disconnect = (LostAfter: number) => ({ LostAfter, Replace: true, Reconcile: 'best-score', StopOnClientAfter: 0 });

let tables: LocalState['tables'];
beforeEach(() => ({ tables } = new LocalState(fixtures.aMachine())));

/** A running allocation of a group that survives a disconnect of so many nanoseconds, or of none. */
function surviving(over: Partial<Allocation> = {}, lostAfterNs: number | null = LOST_AFTER_MS * 1e6): Allocation {
  const Disconnect = lostAfterNs === null ? null : disconnect(lostAfterNs);
  const Job = fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Disconnect: Disconnect as never })] });
  return fixtures.anAlloc({ Job, JobID: Job.ID, ClientStatus: 'running', ...over });
}
function place(...allocs: Allocation[]): void {
  for (const alloc of allocs) tables.allocs.replace(alloc.ID, alloc);
}

it('ND-50: a node has one of four statuses', () => {
  const texts = ['initializing', 'ready', 'down', 'disconnected', 'lost', ''];
  expect(texts.filter(isNodeStatus)).toEqual(['initializing', 'ready', 'down', 'disconnected']);
});

it('ND-60: a node waits for a pool that does not exist, except for the default pool', () => {
  for (const { Name } of tables.node_pools.all()) tables.node_pools.replace(Name, undefined);
  expect(['default', 'gpu'].map((NodePool) => isWaitingForPool(tables, { NodePool }))).toEqual([false, true]);
  tables.node_pools.replace('gpu', { ...fixtures.aNodePool(), Name: 'gpu', CreateIndex: 1, ModifyIndex: 1 });
  expect(isWaitingForPool(tables, { NodePool: 'gpu' })).toBe(false);
});

describe('the status that a heartbeat leads to', () => {
  const leadsTo = (Status: NodeStatus, requested: NodeStatus, over: Partial<Node> = {}) =>
    resultingStatus(tables, fixtures.aNode({ ID: 'n', Status, ...over }), requested);

  it('ND-53, ND-57: only an initializing node has to wait', () => {
    place(surviving({ NodeID: 'n' }));
    const statuses: NodeStatus[] = ['initializing', 'ready', 'down', 'disconnected'];
    expect(statuses.map((status) => leadsTo(status, 'ready'))).toEqual([
      'initializing',
      'ready',
      'ready',
      'initializing',
    ]);
    expect(leadsTo('down', 'ready', { NodePool: 'none' })).toBe('ready');
    for (const status of statuses)
      for (const asked of ['initializing', 'down', 'disconnected'] as const) expect(leadsTo(status, asked)).toBe(asked);
  });

  it('ND-58: it waits for a report of its unfinished work since it was lost', () => {
    const at = (LastAllocUpdateIndex: number) =>
      leadsTo('initializing', 'ready', { LastAllocUpdateIndex, LastMissedHeartbeatIndex: 7 });
    place(surviving({ NodeID: 'n', ClientStatus: 'complete' }));
    expect(at(6)).toBe('ready');
    place(surviving({ NodeID: 'n' }));
    expect([6, 7, 8].map(at)).toEqual(['initializing', 'initializing', 'ready']);
    expect(leadsTo('initializing', 'ready', { ID: 'other' })).toBe('ready');
  });

  it('ND-60: it waits for its pool without work as well', () => {
    expect(leadsTo('initializing', 'ready')).toBe('ready');
    expect(leadsTo('initializing', 'ready', { NodePool: 'none' })).toBe('initializing');
  });
});

describe('the status of a node whose heartbeat is missing', () => {
  const lost = (Status: NodeStatus = 'ready') => lostStatus(tables, fixtures.aNode({ ID: 'n', Status }), NOW_MS * 1e6);

  it('ND-80, ND-82: a ready or disconnected node with work that may survive is disconnected, any other is down', () => {
    expect(lost()).toBe('down');
    place(surviving({ NodeID: 'n' }));
    const statuses: NodeStatus[] = ['initializing', 'ready', 'down', 'disconnected'];
    expect(statuses.map(lost)).toEqual(['down', 'disconnected', 'down', 'disconnected']);
  });

  it('ND-82: work that has ended, that is to stop or that may not survive keeps no node', () => {
    place(
      surviving({ NodeID: 'n', ClientStatus: 'complete' }),
      surviving({ NodeID: 'n', DesiredStatus: 'stop' }),
      surviving({ NodeID: 'n' }, null),
      surviving({ NodeID: 'other' }),
    );
    expect(lost()).toBe('down');
    place(surviving({ NodeID: 'n' }));
    expect(lost()).toBe('disconnected');
  });
});

describe('the time for which an allocation may be disconnected', () => {
  const entry = (Value: string, agoMs: number, Field = 0) => ({ Field, Value, Time: rfc3339FromMs(NOW_MS - agoMs) });
  const isIn = (alloc: Allocation) => isInDisconnectWindow(alloc, NOW_MS * 1e6);
  const unknown = (...AllocStates: Allocation['AllocStates']) =>
    isIn(surviving({ ClientStatus: 'unknown', AllocStates }));

  it('ND-83: needs a group that has one', () => {
    expect([1, 0, null].map((lostAfterNs) => isIn(surviving({}, lostAfterNs)))).toEqual([true, false, false]);
    expect(isIn(surviving({ TaskGroup: 'gone' }))).toBe(false);
    expect(isIn({ ...surviving(), Job: null })).toBe(false);
  });

  it('ND-83: ends when it is over since the last change to unknown, and not for an allocation that is not unknown', () => {
    expect([1, 0, -1].map((earlierMs) => unknown(entry('unknown', LOST_AFTER_MS - earlierMs)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(unknown()).toBe(true);
    expect(isIn(surviving({ AllocStates: [entry('unknown', 2 * LOST_AFTER_MS)] }))).toBe(true);
  });

  it('ND-84: counts from the last entry of the client status that says unknown', () => {
    expect(unknown(entry('unknown', 2 * LOST_AFTER_MS), entry('unknown', 1))).toBe(true);
    expect(unknown(entry('unknown', 2 * LOST_AFTER_MS), entry('running', 1), entry('unknown', 1, 1))).toBe(false);
  });
});

describe('ND-37: a registration requires evaluations', () => {
  const node = fixtures.aNode({ Status: 'ready', Attributes: { a: '1', b: '2' } });
  const needs = (over: Partial<Node>, before: Node | undefined = node) =>
    registrationNeedsEvaluations(before, { ...node, ...over });

  it('of a node that is down, or new and ready', () => {
    expect(needs({ Status: 'down' })).toBe(true);
    expect(registrationNeedsEvaluations(undefined, node)).toBe(true);
    expect(registrationNeedsEvaluations(undefined, { ...node, Status: 'initializing' })).toBe(false);
    expect(registrationNeedsEvaluations({ ...node, Status: 'initializing' }, node)).toBe(true);
  });

  it('with other devices, and not for the order in which a description names its parts', () => {
    const devices = [{ Vendor: 'v', Type: 'gpu', Name: 'x', Instances: [], Attributes: null }];
    expect(needs({ NodeResources: { ...node.NodeResources, Devices: devices as never } })).toBe(true);
    expect(needs({ NodeResources: { ...node.NodeResources, Devices: [] } })).toBe(false);
    expect(needs({ NodeResources: { ...node.NodeResources, Devices: null } })).toBe(false);
    expect(needs({ Attributes: { b: '2', a: '1' } })).toBe(false);
    expect(needs({ Attributes: { a: '1', b: '3' } })).toBe(true);
  });
});
