import { type Allocation, FakeTime, settle } from '@waybill/model';
import {
  type AllocsByIdRequest,
  type AllocsByIdResponse,
  type Call,
  type NodeAllocsRequest,
  type NodeAllocsResponse,
  type Rpc,
  RpcError,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { diffAllocs, type KnownAlloc } from './allocation-diff.js';
import { ASK_AGAIN_SPREAD_MS, MAX_PULL_RETRY_MS, PULL_RETRY_MS, type Pulled, PullLoop } from './pull-loop.js';

/** Servers answers lists on command, and fetches from `allocs` at `index`. */
class Servers implements Rpc {
  readonly lists: {
    request: NodeAllocsRequest;
    answer: (a: NodeAllocsResponse) => void;
    refuse: (e: Error) => void;
  }[] = [];
  readonly fetches: AllocsByIdRequest[] = [];
  allocs: Allocation[] = [];
  index = 0;
  restoredIndex: number | undefined;
  /** Ids of large allocations: no answer can have two of them; and ids of those that are too large alone. */
  large: readonly string[] = [];
  tooLarge: readonly string[] = [];
  async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
    if (call.name === 'nodes.nodeAllocs')
      return new Promise<Res>((resolve, reject) => {
        this.lists.push({
          request: request as unknown as NodeAllocsRequest,
          answer: (a) => resolve(a as Res),
          refuse: reject,
        });
      });
    const wanted = request as unknown as AllocsByIdRequest;
    this.fetches.push(wanted);
    const among = (ids: readonly string[]): number => ids.filter((id) => wanted.AllocIDs.includes(id)).length;
    if (among(this.large) > 1 || among(this.tooLarge) > 0) throw new RpcError('too-large', 'too many bytes');
    const Allocs = this.allocs.filter((a) => wanted.AllocIDs.includes(a.ID));
    const { index: Index, restoredIndex: RestoredIndex } = this;
    const restored = RestoredIndex === undefined ? {} : { RestoredIndex };
    return { Allocs, Index, Traceparents: {}, ...restored } satisfies AllocsByIdResponse as Res;
  }
}

function setup(dev = false) {
  const time = new FakeTime();
  const servers = new Servers();
  const known: KnownAlloc[] = [];
  const invalid = new Set<string>();
  const pulled: Pulled[] = [];
  const refusals: number[] = [];
  const loop = new PullLoop({
    rpc: servers,
    timers: time,
    random: () => 0.5,
    logger: silentLogger,
    caller: () => ({ ID: 'n', SecretID: 's' }),
    dev,
    allocations: { knownAllocations: () => known, idsSetAside: () => invalid },
    receiver: { apply: (one) => void pulled.push(one), refused: () => void refusals.push(time.nowMs()) },
  });
  const list = async (Allocs: Record<string, number>, Index: number) => {
    servers.lists.at(-1)!.answer({ Allocs, Index });
    await settle();
  };
  const alloc = (ID: string, AllocModifyIndex: number) => fixtures.anAlloc({ ID, AllocModifyIndex });
  return { time, servers, known, invalid, pulled, refusals, loop, list, alloc };
}

describe('pull of allocations', () => {
  it('AG-42, AG-44: what is new or newer is wanted, what is not listed is removed, the rest ignored', () => {
    const known = [
      { id: 'same', allocModifyIndex: 5 },
      { id: 'older', allocModifyIndex: 5 },
      { id: 'gone', allocModifyIndex: 5 },
    ];
    const listed = { same: 5, older: 6, fresh: 1, refused: 9 };
    expect(diffAllocs(listed, known, new Set(['refused']))).toEqual({ removed: ['gone'], wanted: ['older', 'fresh'] });
  });

  it('AG-33: a machine that the servers do not recognise is told so; other failures are no refusal', async () => {
    const { time, servers, refusals, loop } = setup();
    loop.start(1);
    await settle();
    servers.lists.at(-1)!.refuse(new RpcError('internal', 'no'));
    await time.pass(2 * PULL_RETRY_MS);
    expect(refusals).toEqual([]);
    servers.lists.at(-1)!.refuse(new RpcError('forbidden', 'Permission denied'));
    await settle();
    expect(refusals).toEqual([time.nowMs()]);
  });

  it('AG-44: a list that could not be applied is asked for again', async () => {
    const { time, servers, pulled, loop, list } = setup();
    pulled.push = () => {
      Reflect.deleteProperty(pulled, 'push');
      throw new Error('not applied');
    };
    loop.start(1);
    await settle();
    await list({}, 5);
    await time.pass(2 * PULL_RETRY_MS);
    expect(servers.lists.at(-1)!.request.MinQueryIndex).toBe(0);
    await list({}, 5);
    expect(pulled).toHaveLength(1);
  });

  it('OP-47: after a restore, what the servers have as older or had refused is news too; once', async () => {
    const { servers, known, invalid, pulled, loop, alloc } = setup();
    known.push({ id: 'newer', allocModifyIndex: 30 }, { id: 'same', allocModifyIndex: 5 });
    invalid.add('collected');
    servers.allocs = [alloc('newer', 20), alloc('collected', 7)];
    servers.index = 50;
    loop.start(1);
    const Allocs = { newer: 20, same: 5, collected: 7 };
    for (const Index of [50, 51]) {
      await settle();
      servers.lists.at(-1)!.answer({ Allocs, Index, RestoredIndex: 50 });
    }
    await settle();
    expect(servers.fetches.map(({ AllocIDs }) => AllocIDs)).toEqual([['newer', 'collected']]);
    expect(pulled.map(({ isRestored }) => isRestored)).toEqual([true, false]);
  });

  it('OP-47: a list from before a restore is not waited for: its allocations may never be as new again', async () => {
    const { time, servers, pulled, loop, list, alloc } = setup();
    loop.start(1);
    await settle();
    servers.allocs = [alloc('a', 20)];
    servers.index = servers.restoredIndex = 50;
    await list({ a: 42 }, 42);
    await time.pass(3_000);
    expect([servers.lists.length, pulled.length]).toEqual([2, 0]);
    expect(servers.lists[1]?.request.MinQueryIndex).toBe(0);
    servers.lists[1]?.answer({ Allocs: { a: 20 }, Index: 50, RestoredIndex: 50 });
    await settle();
    expect(pulled).toMatchObject([{ isRestored: true, changed: [{ alloc: { AllocModifyIndex: 20 } }] }]);
  });

  it('AG-40, ND-153: says how many the last list had, so that it hears of one that is gone since', async () => {
    const { servers, loop, list, alloc } = setup();
    servers.allocs = [alloc('a', 20), alloc('b', 30)];
    servers.index = 50;
    loop.start(1);
    await settle();
    await list({ a: 20, b: 30 }, 30);
    await list({ a: 20, b: 30 }, 30);
    await list({ b: 30 }, 40);
    expect(servers.lists.map(({ request }) => request.Listed)).toEqual([0, 2, 2, 1]);
  });

  it('AG-40: asks at the last index and ignores an answer that is not above it', async () => {
    const { servers, pulled, loop, list } = setup();
    loop.start(40);
    await settle();
    await list({}, 50);
    await list({}, 50);
    await list({}, 49);
    expect(pulled).toHaveLength(1);
    expect(servers.lists.map((l) => l.request.MinQueryIndex)).toEqual([0, 50, 50, 50]);
  });

  it('AG-41, AG-202: the first read asks for a state that has the registration, later ones for any', async () => {
    const { servers, loop, list } = setup();
    loop.start(40);
    await settle();
    await list({}, 50);
    expect(servers.lists.map((l) => l.request.MinStateIndex)).toEqual([40, 0]);
  });

  it('AG-43, AG-401: an answer older than the list is asked for again until it is complete', async () => {
    const { time, servers, pulled, loop, list, alloc } = setup();
    loop.start(1);
    await settle();
    servers.index = 9;
    servers.allocs = [alloc('a', 9)];
    await list({ a: 10 }, 10);
    await time.pass(2_999);
    expect([servers.fetches.length, pulled.length]).toEqual([1, 0]);
    servers.index = 10;
    servers.allocs = [alloc('a', 10)];
    await time.pass(1);
    expect(pulled[0]?.changed.map(({ alloc: { ID } }) => ID)).toEqual(['a']);
    expect(servers.fetches[0]?.MinStateIndex).toBe(10);
  });

  it('AG-43: what is too large for one answer is read in several; one that is too large alone holds up no others', async () => {
    const { servers, pulled, loop, list, alloc } = setup();
    loop.start(1);
    await settle();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    servers.allocs = ids.map((id) => alloc(id, 9));
    servers.index = 10;
    servers.large = ['a', 'b', 'e'];
    servers.tooLarge = ['d'];
    await list(Object.fromEntries(ids.map((id) => [id, 9])), 10);
    expect(pulled[0]?.changed.map(({ alloc: { ID } }) => ID)).toEqual(['a', 'b', 'c', 'e']);
    expect([...pulled[0]!.listed]).toEqual(ids);
    expect(servers.lists).toHaveLength(2);
  });

  it('AG-400: an answer newer than the list is applied', async () => {
    const { servers, pulled, loop, list, alloc } = setup();
    loop.start(1);
    await settle();
    servers.index = 12;
    servers.allocs = [alloc('a', 12)];
    await list({ a: 10 }, 10);
    expect(pulled[0]?.changed[0]?.alloc.AllocModifyIndex).toBe(12);
  });

  it('AG-48: a failed query is repeated, in development after about 1 s', async () => {
    const { time, servers, loop } = setup(true);
    loop.start(1);
    await settle();
    servers.lists[0]!.refuse(new RpcError('unavailable', 'no'));
    await time.pass(1_000);
    expect(servers.lists).toHaveLength(2);
  });

  it('a read that may wait for nobody is given up for a new one; its answer, should it come, changes nothing', async () => {
    const { time, servers, pulled, loop, list } = setup();
    loop.start(1);
    await settle();
    loop.serversChanged();
    loop.serversChanged();
    await time.pass(ASK_AGAIN_SPREAD_MS / 2 - 1);
    expect(servers.lists).toHaveLength(1);
    await time.pass(1);
    expect(servers.lists).toHaveLength(2);
    servers.lists[0]!.answer({ Allocs: {}, Index: 60 });
    await settle();
    expect(pulled).toEqual([]);
    await list({}, 50);
    expect([pulled.length, loop.appliedIndex]).toEqual([1, 50]);
    await time.pass(60_000);
    expect(servers.lists).toHaveLength(3);
  });

  it('AG-48: word that the servers have changed ends the wait for another try', async () => {
    const { time, servers, loop } = setup();
    loop.start(1);
    await settle();
    for (let failure = 0; failure < 6; failure++) {
      servers.lists.at(-1)!.refuse(new RpcError('unavailable', 'no'));
      await settle();
      if (failure < 5) await time.pass(MAX_PULL_RETRY_MS * 2);
    }
    const asked = servers.lists.length;
    loop.serversChanged();
    await time.pass(ASK_AGAIN_SPREAD_MS);
    expect(servers.lists).toHaveLength(asked + 1);
  });

  it('AG-49: after the stop nothing is applied', async () => {
    const { pulled, loop, list, servers } = setup();
    loop.start(1);
    await settle();
    loop.stop();
    await list({}, 50);
    expect(pulled).toEqual([]);
    expect(servers.lists).toHaveLength(1);
  });
});
