import { nodesWriter } from '../node/nodes-writer.js';
import { type Allocation, type Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { AllocUpdates, BATCH_WINDOW_MS } from '../allocations/alloc-updates.js';
import { DEFAULT_PACE } from './heartbeat-ttl.js';
import { heartbeating } from './heartbeating.fixture.js';

/** A holder, and the writes of agents beside it. */
function setup(random?: () => number) {
  const around = heartbeating(random);
  const { state, time } = around;
  const writes = new AllocUpdates({
    state,
    writer: nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' }),
    timers: time,
    newId: fixtures.freshId,
    tracer: () => tracerFor('test'),
  });
  const report = async (node: Node, alloc: Allocation) => {
    const Allocs = [fixtures.aClientUpdate(alloc, { ClientStatus: 'running' })];
    const answer = writes.update({ NodeID: node.ID, SecretID: node.SecretID, Allocs });
    await Promise.all([answer.catch(() => undefined), time.pass(BATCH_WINDOW_MS)]);
    return answer;
  };
  /** The holder begins, and hears nothing for too long. */
  const missed = () => {
    around.take();
    return time.pass(DEFAULT_PACE.failoverTtlMs);
  };
  return { ...around, report, missed };
}

/** A node with work that survives a disconnect, which has just been missed. */
async function disconnected() {
  const around = setup();
  const node = around.add({ Status: 'ready' });
  const alloc = around.work(node, {}, true);
  await around.missed();
  expect(around.stored(node).Status).toBe('disconnected');
  return { ...around, node, alloc };
}

describe('heartbeats and writes in any order', () => {
  it('ND-200, ND-106: a write before the heartbeat is refused and changes nothing; sent again after it, it is taken', async () => {
    const { node, alloc, report, beat, stored, state } = await disconnected();
    const before = state.appliedIndex;
    await expect(report(node, alloc)).rejects.toThrow(
      `node ${node.ID} is not allowed to update allocs while in status disconnected`,
    );
    expect(state.appliedIndex).toBe(before);
    await beat(node);
    expect((await report(node, alloc)).Taken).toBe(true);
    await beat(node);
    expect(stored(node).Status).toBe('ready');
  });

  it('ND-201, ND-203, ST-40: between heartbeat and write it is initializing, however many heartbeats come', async () => {
    const { node, alloc, report, beat, stored } = await disconnected();
    await Promise.all([beat(node), beat(node)]);
    expect(stored(node).Status).toBe('initializing');
    await beat(node);
    expect(stored(node).Status).toBe('initializing');
    await report(node, alloc);
    await beat(node);
    expect(stored(node).Status).toBe('ready');
  });

  it('ND-67, ND-111: a write is noted on the node, whatever its status, and is no change of the node', async () => {
    const { node, alloc, report, beat, stored, state } = await disconnected();
    await beat(node);
    const { ModifyIndex } = stored(node);
    const { Index } = await report(node, alloc);
    expect(stored(node)).toMatchObject({ Status: 'initializing', LastAllocUpdateIndex: Index, ModifyIndex });
    expect(state.tables.nodes.tableIndex).toBe(Index);
  });

  it('ND-86: with one allocation that may survive and one that may not, the node is disconnected, its jobs are looked at', async () => {
    const { add, work, missed, stored, state } = setup();
    const node = add({ Status: 'ready' });
    const jobs = [work(node, {}, true).JobID, work(node).JobID];
    await missed();
    expect(stored(node).Status).toBe('disconnected');
    const evaluated = [...state.tables.evals.all()].filter((e) => e.NodeID === node.ID).map((e) => e.JobID);
    expect(evaluated.toSorted()).toEqual(jobs.toSorted());
  });

  it('ND-88: a heartbeat at the very moment of the loss ends in ready', async () => {
    const { add, beat, stored, missed } = setup();
    const node = add({ Status: 'ready' });
    await Promise.all([missed(), beat(node)]);
    await beat(node);
    expect(stored(node).Events.map((event) => event.Message)).toContain('Node heartbeat missed');
    expect(stored(node).Status).toBe('ready');
  });

  it('ND-207: when all come back at once their deadlines spread again', async () => {
    let last = 0;
    const { add, take, beat, heartbeats } = setup(() => (last = (last + 0.37) % 1));
    const nodes = Array.from({ length: 50 }, () => add({ Status: 'down' }));
    take();
    for (const node of nodes) await beat(node);
    const due = nodes.map((node) => heartbeats.deadlineOf(node.ID)!);
    expect(new Set(due).size).toBeGreaterThan(nodes.length / 2);
    expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(DEFAULT_PACE.minTtlMs / 2);
  });

  it('ND-210: purged between registration and first heartbeat, the agent is told that nobody knows it', async () => {
    const { add, take, beat, state } = setup();
    const node = add({ Status: 'initializing' });
    take();
    fixtures.apply(state.machine, 'NodeDeregister', { NodeID: node.ID });
    await expect(beat(node)).rejects.toThrow('node not found');
  });
});

describe('what a written status leaves', () => {
  it('ND-52, ND-64: time, index and event, one after the other', async () => {
    const { add, take, beat, stored, time } = setup();
    const node = add({ Status: 'down' });
    take();
    await time.pass(2_000);
    const answer = await beat(node, 'initializing');
    expect(answer.HeartbeatTTL).toBeGreaterThan(0);
    const after = stored(node);
    expect(after).toMatchObject({
      Status: 'initializing',
      StatusUpdatedAt: Math.floor(time.nowMs() / 1_000),
      ModifyIndex: answer.Index,
    });
    expect(after.Events.map((event) => event.Message)).toEqual(['Node registered', 'Node reregistered by heartbeat']);
    expect(after.Events.at(-1)!.CreateIndex).toBe(answer.Index);
  });

  it('ND-71, ND-72: evaluations come after the status, know its index, and are in the answer', async () => {
    const { add, take, work, beat, state } = setup();
    const node = add({ Status: 'down' });
    take();
    work(node);
    const answer = await beat(node);
    expect(answer.EvalIDs).toHaveLength(1);
    const evaluation = state.tables.evals.get(answer.EvalIDs[0]!)!;
    expect(evaluation.NodeModifyIndex).toBe(answer.NodeModifyIndex);
    expect(evaluation.CreateIndex).toBeGreaterThan(answer.NodeModifyIndex);
  });
});
