import { nodesWriter } from './nodes-writer.js';
import { FakeTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import type { OnBehalfOf } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { NodeCommands } from './node-commands.js';
import { NodeEvaluations } from './node-evaluations.js';

const by = (RequestID: string): OnBehalfOf => ({
  Actor: { Kind: 'anonymous', ID: '', Name: 'somebody' },
  Reason: 'because',
  RequestID,
});

function setup() {
  const time = new FakeTime(fixtures.timeNs / 1e6);
  const state = new LocalState(fixtures.aMachine());
  const node = fixtures.aNode({ Status: 'ready' });
  fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const writer = nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' });
  const commands = new NodeCommands(state, new NodeEvaluations(state, writer), writer);
  const work = () => {
    const alloc = fixtures.anAlloc({ NodeID: node.ID, ClientStatus: 'running' });
    state.tables.allocs.replace(alloc.ID, alloc);
    return alloc;
  };
  return { state, node, commands, work };
}

describe('purging a node', () => {
  it('ND-142 ND-143 API-207: the node goes, alive as it is; its allocations stay, and their jobs are looked at', async () => {
    const { state, node, commands, work } = setup();
    const alloc = work();
    const answer = await commands.purge({ NodeID: node.ID, For: by('purge-1') });
    expect(state.tables.nodes.has(node.ID)).toBe(false);
    expect(state.tables.allocs.has(alloc.ID)).toBe(true);
    expect(answer).toMatchObject({ NodeModifyIndex: 3, Index: 3, EvalCreateIndex: 4, NumNodes: 0 });
    expect(answer.EvalIDs.map((id) => state.tables.evals.get(id))).toMatchObject([
      { JobID: alloc.JobID, TriggeredBy: 'node-update', NodeID: node.ID, NodeModifyIndex: 3, Status: 'pending' },
    ]);
  });

  it('ND-140: a missing or unknown id is refused and changes nothing', async () => {
    const { state, node, commands } = setup();
    const before = state.appliedIndex;
    await expect(commands.purge({ NodeID: '', For: by('a') })).rejects.toThrow(
      'missing node ID for client deregistration',
    );
    await expect(commands.purge({ NodeID: fixtures.freshId(), For: by('b') })).rejects.toThrow('node not found');
    expect(state.appliedIndex).toBe(before);
    expect(state.tables.nodes.has(node.ID)).toBe(true);
  });
});

describe('evaluating a node', () => {
  it('ND-24 API-206: makes its evaluations each time somebody asks, never the same ones', async () => {
    const { state, node, commands, work } = setup();
    work();
    const first = await commands.evaluate({ NodeID: node.ID, For: by('ask-1') });
    const second = await commands.evaluate({ NodeID: node.ID, For: by('ask-2') });
    expect(first).toMatchObject({ Index: 3, EvalCreateIndex: 3, NodeModifyIndex: 2 });
    expect(second).toMatchObject({ Index: 4, EvalCreateIndex: 4 });
    expect([...state.tables.evals.all()].map((e) => e.ID).toSorted()).toEqual(
      [...first.EvalIDs, ...second.EvalIDs].toSorted(),
    );
  });

  it('ND-24 ND-103: without jobs nothing is written; without id or node it is refused', async () => {
    const { state, node, commands } = setup();
    const before = state.appliedIndex;
    expect(await commands.evaluate({ NodeID: node.ID, For: by('a') })).toMatchObject({
      EvalIDs: [],
      EvalCreateIndex: 0,
    });
    await expect(commands.evaluate({ NodeID: '', For: by('b') })).rejects.toThrow('missing node ID for evaluation');
    await expect(commands.evaluate({ NodeID: fixtures.freshId(), For: by('c') })).rejects.toThrow('node not found');
    expect(state.appliedIndex).toBe(before);
  });
});
