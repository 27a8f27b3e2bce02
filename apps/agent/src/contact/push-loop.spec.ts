import { type ClientAllocUpdate, FakeTime } from '@waybill/model';
import { RpcError } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { PendingUpdates } from './pending-updates.js';
import { FIRST_PUSH_MS, PushLoop } from './push-loop.js';

function setup() {
  const time = new FakeTime(0);
  const sent: { at: number; states: string[]; traceparent: string | undefined }[] = [];
  const acknowledged = new Map<string, ClientAllocUpdate>();
  const servers: { failure?: Error; slow?: Promise<void>; most?: number } = {};
  const pending = new PendingUpdates();
  const loop = new PushLoop({
    timers: time,
    logger: silentLogger,
    random: () => 0.5,
    retryMs: 5_000,
    pending,
    sender: {
      send: async (updates, traceparent) => {
        const states = updates.map((u) => `${u.ID} ${u.ClientStatus} ${u.ClientDescription}`);
        sent.push({ at: time.nowMs(), states, traceparent });
        await servers.slow;
        if (servers.failure) throw servers.failure;
        if (updates.length > (servers.most ?? Infinity)) throw new RpcError('too-large', 'too many bytes');
      },
    },
    acknowledgements: {
      acknowledgedUpdate: (id) => acknowledged.get(id) ?? null,
      acknowledge: (update) => void acknowledged.set(update.ID, update),
    },
  });
  const changed = (
    ID: string,
    ClientStatus: ClientAllocUpdate['ClientStatus'],
    ClientDescription = '',
    trace?: string,
  ) => pending.addUpdate(fixtures.aClientUpdate({ ID, NodeID: 'n' }, { ClientStatus, ClientDescription }), trace);
  return { time, loop, pending, sent, acknowledged, servers, changed };
}

describe('push of states', () => {
  it('AG-61: nothing before the first pull was applied', async () => {
    const { time, loop, sent, changed } = setup();
    changed('a', 'running');
    await time.pass(60_000);
    expect(sent).toEqual([]);
    loop.startSending();
    await time.pass(0);
    expect(sent).toHaveLength(1);
  });

  it('AG-60, AG-404: only the newest state of an allocation goes out', async () => {
    const { time, loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'running', 'one');
    changed('a', 'running', 'two');
    await time.pass(200);
    expect(sent.map((s) => s.states)).toEqual([['a running two']]);
  });

  it('AG-62: a new status goes with the next look, anything else with every fifth', async () => {
    const { time, loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'running');
    await time.pass(200);
    changed('a', 'running', 'one more event');
    await time.pass(799);
    expect(sent.map((s) => s.at)).toEqual([FIRST_PUSH_MS]);
    await time.pass(1);
    expect(sent.map((s) => s.at)).toEqual([FIRST_PUSH_MS, 1_000]);
    changed('a', 'failed');
    await time.pass(200);
    expect(sent.map((s) => s.at)).toEqual([FIRST_PUSH_MS, 1_000, 1_200]);
  });

  it('AG-62: after 200 ms without a request, a new status goes out early, with those that follow at once', async () => {
    const { time, loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'pending', 'received');
    await time.pass(50);
    changed('a', 'running');
    await time.pass(FIRST_PUSH_MS - 1);
    changed('b', 'running');
    await time.pass(140);
    changed('c', 'running'); // too late for that request, and too early for one of its own
    await time.pass(60);
    expect(sent.map(({ at, states }) => [at, states.length])).toEqual([[50 + FIRST_PUSH_MS, 2]]);
    await time.pass(1);
    const second = [250 + FIRST_PUSH_MS, 1];
    expect(sent.map(({ at, states }) => [at, states.length])).toEqual([[50 + FIRST_PUSH_MS, 2], second]);
  });

  it('AG-63, AG-406: a state that is confirmed is not sent again, and an idle loop has no timer', async () => {
    const { time, loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'running');
    await time.pass(2_000);
    changed('a', 'running');
    await time.pass(10_000);
    expect(sent).toHaveLength(1);
    expect(time.pending).toBe(0);
  });

  it('AG-64, AG-66, AG-405: one request at a time; a refused one is repeated with the newest states until it is taken', async () => {
    const { time, loop, sent, servers, changed } = setup();
    loop.startSending();
    servers.failure = new Error('node n is not allowed to update allocs while in status down');
    changed('a', 'running');
    await time.pass(200);
    changed('a', 'complete');
    await time.pass(3_600_000);
    expect(sent[1]).toMatchObject({ at: 7_500 + FIRST_PUSH_MS, states: ['a complete '] });
    const tries = sent.length;
    delete servers.failure;
    await time.pass(7_500);
    expect(sent).toHaveLength(tries + 1);
    await time.pass(60_000);
    expect(sent).toHaveLength(tries + 1);
  });

  it('AG-64: while one request is under way no other is sent', async () => {
    const { time, loop, sent, servers, changed } = setup();
    loop.startSending();
    let answer: () => void = () => {};
    servers.slow = new Promise((resolve) => (answer = resolve));
    changed('a', 'running');
    await time.pass(200);
    changed('a', 'complete');
    changed('b', 'running');
    await time.pass(30_000);
    expect(sent).toHaveLength(1);
    answer();
    await time.pass(200);
    expect(sent[1]?.states.toSorted()).toEqual(['a complete ', 'b running ']);
  });

  it('AG-64: what is too large for one request goes out in several', async () => {
    const { time, loop, pending, sent, acknowledged, servers, changed } = setup();
    loop.startSending();
    servers.most = 2;
    for (const id of ['a', 'b', 'c', 'd', 'e']) changed(id, 'running');
    await time.pass(200);
    expect(sent.map(({ states }) => states.length)).toEqual([5, 3, 2, 1, 2]);
    expect([...acknowledged.keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(pending.size).toBe(0);
  });

  it('AG-68: all present states once more although they are confirmed', async () => {
    const { time, loop, pending, sent, acknowledged, changed } = setup();
    loop.startSending();
    changed('a', 'running');
    await time.pass(1_000);
    pending.addAgain([...acknowledged.values()]);
    await time.pass(1_000);
    expect(sent).toHaveLength(2);
    await time.pass(10_000);
    expect(sent).toHaveLength(2);
  });

  it('AG-344: on the way out what waits is sent once more', async () => {
    const { loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'complete');
    await loop.stop();
    expect(sent).toHaveLength(1);
  });

  it('carries the trace of the first change that had one', async () => {
    const { time, loop, sent, changed } = setup();
    loop.startSending();
    changed('a', 'pending', '', 'trace');
    changed('a', 'running');
    await time.pass(200);
    expect(sent[0]?.traceparent).toBe('trace');
  });
});
