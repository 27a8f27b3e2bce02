import { type Node, rfc3339FromMs } from '@waybill/model';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { DEFAULT_PACE } from './heartbeat-ttl.js';
import { heartbeating } from './heartbeating.fixture.js';

const draft = <T extends TxnType>(type: T, payload: TxnPayloads[T]) =>
  draftTxn(type, payload, { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') });

describe('heartbeats', () => {
  it('ND-79: without the lease a heartbeat fails and no timer fires', async () => {
    const { time, heartbeats, add, take, beat, stored } = heartbeating();
    const node = add();
    await expect(beat(node)).rejects.toThrow('failed to reset heartbeat since server is not leader');
    take();
    heartbeats.stop();
    await time.pass(3_600_000);
    expect(time.pending).toBe(0);
    expect(stored(node).Status).toBe('ready');
  });

  it('ND-50: an empty id, an unknown status, an unknown node', async () => {
    const { heartbeats, add, take } = heartbeating();
    const node = add();
    take();
    const ask = (NodeID: string, Status: string) =>
      heartbeats.heartbeat({ NodeID, SecretID: node.SecretID, Status: Status as Node['Status'] });
    await expect(ask('', 'ready')).rejects.toThrow('missing node ID for client status update');
    await expect(ask(node.ID, 'fine')).rejects.toThrow('invalid status for node');
    await expect(ask('nobody', 'ready')).rejects.toThrow('node not found');
  });

  it('ND-65: the secret of another node is no proof', async () => {
    const { heartbeats, add, take } = heartbeating();
    const [a, b] = [add(), add()];
    take();
    await expect(heartbeats.heartbeat({ NodeID: a.ID, SecretID: b.SecretID, Status: 'ready' })).rejects.toThrow(
      'Permission denied',
    );
  });

  it('ND-51, ND-54, ND-177: one that changes nothing writes nothing, so that nobody hears of it; it answers index 0 and a TTL', async () => {
    const { state, add, take, beat, stored } = heartbeating();
    const node = add();
    take();
    const before = state.appliedIndex;
    const answer = await beat(node);
    expect(state.appliedIndex).toBe(before);
    expect(answer).toMatchObject({ Index: 0, NodeModifyIndex: 0, EvalIDs: [], HeartbeatTTL: 10_000 * 1e6 });
    expect(stored(node).StatusUpdatedAt).toBe(node.StatusUpdatedAt);
  });

  it('ND-55, ND-68: the answer tells eligibility, status and the number of nodes', async () => {
    const { add, take, beat } = heartbeating();
    const node = add({ SchedulingEligibility: 'ineligible' });
    add();
    take();
    expect(await beat(node)).toMatchObject({ SchedulingEligibility: 'ineligible', Status: 'ready', NumNodes: 2 });
  });

  it('ND-76: a node that calls at the end of its TTL is never lost; one that does not is lost TTL + grace after', async () => {
    const { time, add, take, beat, stored } = heartbeating(() => 0.5);
    const node = add();
    take();
    const { HeartbeatTTL } = await beat(node);
    expect(HeartbeatTTL).toBe(15_000 * 1e6);
    for (let i = 0; i < 20; i++) {
      await time.pass(15_000);
      await beat(node);
    }
    await time.pass(24_999);
    expect(stored(node).Status).toBe('ready');
    await time.pass(1);
    expect(stored(node).Status).toBe('down');
  });

  it('ND-77: a heartbeat replaces the timer of the node', async () => {
    const { time, add, take, beat } = heartbeating();
    const node = add();
    take();
    for (let i = 0; i < 5; i++) await beat(node);
    expect(time.pending).toBe(1);
  });

  it('ND-78, ND-206: a new holder loses no node within the failover time, and then those that stayed silent', async () => {
    const { time, add, take, beat, stored } = heartbeating();
    const [alive, silent] = [add(), add()];
    const down = add({ Status: 'down' });
    take();
    expect(time.pending).toBe(2);
    await time.pass(299_000);
    expect(stored(silent).Status).toBe('ready');
    await beat(alive);
    await time.pass(1_000);
    expect(stored(silent).Status).toBe('down');
    expect(stored(alive).Status).toBe('ready');
    expect(stored(down).Events.map((e) => e.Message)).toEqual(['Node registered']);
  });

  it('ND-78, ND-76: after a restore a machine of the archive that is not here is lost as soon as a living one would be', async () => {
    const { time, add, takeAfterRestore, beat, stored } = heartbeating();
    const [alive, foreign] = [add(), add()];
    takeAfterRestore();
    await time.pass(20_000);
    await beat(alive);
    await time.pass(9_999);
    expect(stored(foreign).Status).toBe('ready');
    await time.pass(1);
    expect([stored(foreign).Status, stored(alive).Status]).toEqual(['down', 'ready']);
  });

  it('ND-80: a missed heartbeat is written with its event and the epoch of the holder', async () => {
    const { time, state, add, take, stored } = heartbeating();
    const node = add();
    take();
    await time.pass(300_000);
    const write = state.history.find((a) => a.txn.type === 'NodeUpdateStatus')!;
    expect(write.txn.fence).toEqual({ role: 'nodes', epoch: 1 });
    expect(stored(node).Events.at(-1)).toMatchObject({ Subsystem: 'Cluster', Message: 'Node heartbeat missed' });
  });

  it('ND-76: a node that came back is watched also where its evaluations could not be written', async () => {
    const { time, state, add, work, take, beat, stored } = heartbeating();
    const node = add({ Status: 'down' });
    work(node);
    take();
    state.onApplied(({ txn }) => {
      if (txn.type === 'NodeUpdateStatus') state.failure = new Error('the log is gone');
    });
    await expect(beat(node)).rejects.toThrow('the log is gone');
    state.failure = undefined;
    expect(stored(node).Status).toBe('ready');
    await time.pass(60_000);
    expect(stored(node).Status).toBe('down');
  });

  it('ND-81: a loss that could not be written is tried again', async () => {
    const { time, state, add, take, stored } = heartbeating();
    const node = add();
    take();
    state.failure = new Error('the log is gone');
    await time.pass(300_000);
    expect(stored(node).Status).toBe('ready');
    state.failure = undefined;
    await time.pass(5_000);
    expect(stored(node).Status).toBe('down');
  });

  it('ND-82, ND-85: with work that may survive it is disconnected, stays watched, and is down when no window is left', async () => {
    const { time, state, add, take, stored, work } = heartbeating();
    const node = add();
    const alloc = work(node, {}, true);
    take();
    await time.pass(300_000);
    expect(stored(node).Status).toBe('disconnected');
    state.tables.allocs.replace(alloc.ID, {
      ...alloc,
      ClientStatus: 'unknown',
      AllocStates: [{ Field: 0, Value: 'unknown', Time: rfc3339FromMs(time.nowMs()) }],
    });
    await time.pass(20_000);
    expect(stored(node).Status).toBe('disconnected');
    expect(stored(node).Events.filter((e) => e.Message === 'Node heartbeat missed')).toHaveLength(2);
    await time.pass(60_000);
    expect(stored(node).Status).toBe('down');
  });

  it('ND-82: work that may survive but has ended keeps nobody disconnected, and an initializing node goes down', async () => {
    const { time, add, take, stored, work } = heartbeating();
    const [ended, initializing] = [add(), add({ Status: 'initializing' })];
    work(ended, { ClientStatus: 'complete' }, true);
    work(initializing, {}, true);
    take();
    await time.pass(300_000);
    expect(stored(ended).Status).toBe('down');
    expect(stored(initializing).Status).toBe('down');
  });

  it('ND-83: the window is over at the very moment its time is reached', async () => {
    const { time, add, take, stored, work } = heartbeating();
    const [at, before] = [add(), add()];
    const entry = (Value: string, ms: number) => ({
      Field: 0,
      Value,
      Time: rfc3339FromMs(time.nowMs() + 300_000 - ms),
    });
    // The entry of another status counts for nothing.
    const since = (ms: number) => [entry('unknown', ms), entry('running', 0)];
    work(at, { ClientStatus: 'unknown', AllocStates: since(60_000) }, true);
    work(before, { ClientStatus: 'unknown', AllocStates: since(59_999) }, true);
    take();
    await time.pass(300_000);
    expect(stored(at).Status).toBe('down');
    expect(stored(before).Status).toBe('disconnected');
  });

  it('ND-53, ND-63, ND-66: a heartbeat from a down node makes it ready, with an event and evaluations', async () => {
    const { time, add, take, beat, stored, work } = heartbeating();
    const node = add();
    work(node);
    take();
    await time.pass(300_000);
    expect(stored(node).Status).toBe('down');
    expect(stored(node).LastMissedHeartbeatIndex).toBe(stored(node).ModifyIndex);
    const answer = await beat(node);
    expect(answer.EvalIDs).toHaveLength(1);
    expect(stored(node)).toMatchObject({ Status: 'ready', LastMissedHeartbeatIndex: 0 });
    expect(stored(node).StatusUpdatedAt).toBe(Math.floor(time.nowMs() / 1_000));
    expect(stored(node).Events.at(-1)).toMatchObject({ Message: 'Node reregistered by heartbeat' });
  });

  it('ND-57, ND-58, ND-61: disconnected → initializing, and ready only after the node wrote its allocations', async () => {
    const { time, state, add, take, beat, stored, work } = heartbeating();
    const node = add();
    const alloc = work(node, {}, true);
    take();
    await time.pass(300_000);
    expect(stored(node).Status).toBe('disconnected');
    expect((await beat(node)).Status).toBe('initializing');
    expect((await beat(node)).Status).toBe('initializing');
    fixtures.apply(state.machine, 'AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc)], Evals: [] });
    expect((await beat(node)).Status).toBe('ready');
  });

  it('ND-58, ND-59: a node without unfinished work is ready at once, one with work waits for its first write', async () => {
    const { add, take, beat, work } = heartbeating();
    const [idle, busy] = [add({ Status: 'initializing' }), add({ Status: 'initializing' })];
    work(busy);
    take();
    expect((await beat(idle)).Status).toBe('ready');
    expect((await beat(busy)).Status).toBe('initializing');
  });

  it('ND-60: a node of a pool that does not exist waits, and says so once', async () => {
    const { add, take, beat, stored } = heartbeating();
    const node = add({ Status: 'initializing', NodePool: 'gpu' });
    take();
    expect((await beat(node)).Status).toBe('initializing');
    await beat(node);
    const waiting = stored(node).Events.filter((e) => e.Message.startsWith('Node registered but waiting'));
    expect(waiting).toEqual([expect.objectContaining({ Details: { node_pool: 'gpu' } })]);
  });

  it('ND-189: it is ready with the first heartbeat after its pool appeared', async () => {
    const { state, add, take, beat } = heartbeating();
    const node = add({ Status: 'initializing', NodePool: 'gpu' });
    take();
    expect((await beat(node)).Status).toBe('initializing');
    const pool = { Name: 'gpu', Description: '', Meta: null, SchedulerConfiguration: null, NodeIdentityTTL: 0 };
    await state.propose(draft('NodePoolUpsert', { NodePools: [pool] }));
    expect((await beat(node)).Status).toBe('ready');
  });

  it('ND-79, ND-87: the holder watches what another replica registered, and forgets what is purged', async () => {
    const { time, state, heartbeats, add, take } = heartbeating();
    take();
    const node = fixtures.aNode();
    await state.propose(draft('NodeRegister', { Node: node, CreateNodePool: false }));
    expect(time.pending).toBe(1);
    await state.propose(draft('NodeRegister', { Node: { ...node, NodePool: 'new' }, CreateNodePool: true }));
    expect(time.pending).toBe(1);
    await state.propose(draft('NodeDeregister', { NodeID: node.ID }));
    expect([time.pending, heartbeats.stats()['trackedNodes']]).toEqual([0, 0]);
    expect(add().ID).not.toBe(node.ID);
  });

  it('ND-205: a holder that stood still does not blame the nodes', async () => {
    const { time, add, take, beat, stored } = heartbeating();
    const node = add();
    take();
    await beat(node);
    time.freeze(60_000);
    await time.pass(0);
    expect(stored(node).Status).toBe('ready');
    await time.pass(300_000);
    expect(stored(node).Status).toBe('down');
  });

  it('ND-50: a node that is purged right after its heartbeat was written is unknown', async () => {
    const { state, add, take, beat } = heartbeating();
    const node = add({ Status: 'down' });
    take();
    state.onApplied(() => state.tables.nodes.replace(node.ID, undefined));
    await expect(beat(node)).rejects.toThrow('node not found');
  });

  it('ND-65: a node that was stored without a secret may call with any', async () => {
    const { state, add, take, beat, stored } = heartbeating();
    const node = add();
    state.tables.nodes.replace(node.ID, { ...stored(node), SecretID: '' });
    take();
    expect((await beat(node)).Status).toBe('ready');
  });

  it('ND-208: a node that is down is not missed again', async () => {
    const { time, heartbeats, add, take, stored } = heartbeating();
    const node = add();
    take();
    await time.pass(300_000);
    expect([time.pending, heartbeats.deadlineOf(node.ID)]).toEqual([0, undefined]);
    await time.pass(3_600_000);
    expect(stored(node).Events.filter((e) => e.Message === 'Node heartbeat missed')).toHaveLength(1);
    expect(time.pending).toBe(0);
  });
});

describe('deadlines', () => {
  it('ND-76: a process that stood still for no longer than the grace loses the node, after longer it waits once more', async () => {
    for (const [lateMs, status] of [
      [DEFAULT_PACE.graceMs, 'down'],
      [DEFAULT_PACE.graceMs + 1, 'ready'],
    ] as const) {
      const { time, heartbeats, add, take, beat, stored } = heartbeating();
      const node = add();
      take();
      await beat(node);
      time.freeze(heartbeats.deadlineOf(node.ID)! - time.nowMs() + lateMs);
      await time.pass(0);
      expect(stored(node).Status).toBe(status);
    }
  });

  it('ND-81: a loss that could not be written is not tried again if the node was heard of meanwhile, or the term is over', async () => {
    const heard = heartbeating();
    const node = heard.add();
    heard.take();
    heard.state.failure = new Error('the log is gone');
    heard.time.freeze(DEFAULT_PACE.failoverTtlMs);
    const passing = heard.time.pass(0);
    await heard.beat(node);
    await passing;
    expect(heard.heartbeats.deadlineOf(node.ID)).toBe(heard.time.nowMs() + 10_000 + DEFAULT_PACE.graceMs);
    expect(heard.time.pending).toBe(1);

    const over = heartbeating();
    over.add();
    over.take();
    over.state.failure = new Error('the log is gone');
    over.time.freeze(DEFAULT_PACE.failoverTtlMs);
    const ending = over.time.pass(0);
    await Promise.resolve();
    over.heartbeats.stop();
    await ending;
    expect(over.time.pending).toBe(0);
  });

  it('ND-79: without the role no node is watched', async () => {
    const { time, state, heartbeats } = heartbeating();
    await state.propose(draft('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false }));
    expect([time.pending, heartbeats.stats()]).toEqual([0, { trackedNodes: 0, missedHeartbeats: 0 }]);
    heartbeats.start({ fence: { role: 'nodes', epoch: 1 }, followsRestore: false });
    expect([time.pending, heartbeats.stats()]).toMatchObject([1, { trackedNodes: 1 }]);
    heartbeats.stop();
    expect([time.pending, heartbeats.stats()]).toMatchObject([0, { trackedNodes: 0 }]);
  });
});
