import { FakeTime, settle, type Allocation, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { MAX_ALLOC_QUERY_WAIT_MS, type NodeAllocsRequest, type NodeAllocsResponse } from '@waybill/rpc';
import { archiveLines, draftTxn, fixtures, readArchive, serviceActor } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { AllocQueries, nodeAllocsAnswer } from './alloc-queries.js';
import { PlacementTraces } from './placement-traces.js';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

async function setup() {
  const time = new FakeTime();
  const state = new LocalState(fixtures.aMachine());
  const queries = new AllocQueries(state, new PlacementTraces(state), time);
  const [a, b] = [fixtures.aNode(), fixtures.aNode()];
  for (const node of [a, b]) fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const { job, evaluation } = fixtures.aRegisteredJob(state.machine, fixtures.aJob({ ID: 'web' }));
  const write: typeof draftTxn = (type, payload) =>
    draftTxn(type, payload, {
      timeNs: fixtures.timeNs,
      requestId: fixtures.freshId(),
      actor: serviceActor('test'),
      traceparent: TRACE,
    });
  const place = async (node: Node): Promise<Allocation> => {
    const alloc = fixtures.anAlloc({ Job: job, JobID: job.ID, NodeID: node.ID, EvalID: evaluation.ID });
    const plan = fixtures.aPlanResult({ Job: job, AllocsUpdated: [alloc], EvalID: evaluation.ID });
    await state.propose(write('ApplyPlanResults', plan, { timeNs: 0, requestId: '', actor: serviceActor('test') }));
    return state.tables.allocs.get(alloc.ID)!;
  };
  const remove = (...AllocIDs: string[]) =>
    state.propose(
      write(
        'EvalDelete',
        { EvalIDs: [], AllocIDs, ScanIndex: state.appliedIndex, UserInitiated: false },
        { timeNs: 0, requestId: '', actor: serviceActor('test') },
      ),
    );
  /** A read that waits; `answer` is undefined as long as it does. */
  const read = (node: Node, MinQueryIndex: number, over: Partial<NodeAllocsRequest> = {}) => {
    const waiting: { answer?: NodeAllocsResponse; error?: Error } = {};
    queries
      .nodeAllocs({
        NodeID: node.ID,
        SecretID: node.SecretID,
        MinQueryIndex,
        MaxQueryTimeMs: 10_000,
        MinStateIndex: 0,
        ...over,
      })
      .then(
        (answer) => (waiting.answer = answer),
        (error: Error) => (waiting.error = error),
      );
    return waiting;
  };
  return { time, state, queries, a, b, place, remove, read };
}

/** The read, once all that can happen without time has happened. */
async function settled<Read>(read: Read): Promise<Read> {
  await settle();
  return read;
}

/** No role that calls machines is held here. */
const Terms = { ClusterID: '', RestoredIndex: 0, Holders: {} };

describe('allocation reads of agents', () => {
  it('OP-47: a restore is told, although it takes rows back to lower indexes', async () => {
    const { state, queries, a, place, read } = await setup();
    const alloc = await place(a);
    const archive = [...archiveLines(state.tables)];
    fixtures.apply(state.machine, 'AllocClientUpdate', {
      Allocs: [{ ...alloc, ClientStatus: 'complete' }],
      Evals: [],
    });
    const { ModifyIndex } = state.tables.allocs.get(alloc.ID)!;
    const waiting = read(a, ModifyIndex);
    const restore = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables: readArchive(archive) };
    const { index } = await state.propose(
      draftTxn('StateRestore', restore, { timeNs: 0, requestId: 'restore', actor: serviceActor('test') }),
    );
    await settle();
    const answer = { Allocs: { [alloc.ID]: alloc.AllocModifyIndex }, Index: index, RestoredIndex: index };
    expect(waiting.answer).toEqual({ ...answer, Terms: { ...Terms, RestoredIndex: index } });
    expect(read(a, index).answer).toBeUndefined();
    const asked = { NodeID: a.ID, SecretID: a.SecretID, AllocIDs: [alloc.ID], MinStateIndex: 1 };
    expect(await queries.allocsById(asked)).toMatchObject({ RestoredIndex: index });
  });

  it('ND-152, OP-47: an allocation that a restore puts on another node is an answer for the node that loses it', async () => {
    const { state, a, b, place, read } = await setup();
    const alloc = await place(a);
    const moved = [...archiveLines(state.tables)].map((line) =>
      line.includes(`"${alloc.ID}"`) ? line.replaceAll(a.ID, b.ID) : line,
    );
    const [losing, gaining] = [read(a, state.appliedIndex), read(b, state.appliedIndex)];
    await settle();
    expect([losing.answer, gaining.answer]).toEqual([undefined, undefined]);
    const restore = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables: readArchive(moved) };
    await state.propose(
      draftTxn('StateRestore', restore, { timeNs: 0, requestId: 'restore', actor: serviceActor('test') }),
    );
    await settle();
    expect([losing.answer?.Allocs, Object.keys(gaining.answer?.Allocs ?? {})]).toEqual([{}, [alloc.ID]]);
  });

  it('ND-151: only with the secret of that node; that of an unknown node is no proof', async () => {
    const { queries, a, b } = await setup();
    const ask = (NodeID: string, SecretID: string) =>
      queries.nodeAllocs({ NodeID, SecretID, MinQueryIndex: 0, MaxQueryTimeMs: 0, MinStateIndex: 0 });
    await expect(ask(a.ID, b.SecretID)).rejects.toThrow('Permission denied');
    await expect(ask('nobody', 'x')).rejects.toThrow('Permission denied');
    await expect(ask('nobody', '')).rejects.toThrow('Permission denied');
  });

  it('ND-150, ND-153, ST-155: all allocations of the node with the highest ModifyIndex; never index 0', async () => {
    const { state, a, b, place } = await setup();
    expect(nodeAllocsAnswer(state.tables, a.ID, undefined)).toEqual({ Allocs: {}, Index: 1 });
    const first = await place(a);
    const second = await place(a);
    await place(b);
    expect(nodeAllocsAnswer(state.tables, a.ID, undefined)).toEqual({
      Allocs: { [first.ID]: first.AllocModifyIndex, [second.ID]: second.AllocModifyIndex },
      Index: second.ModifyIndex,
    });
  });

  it('ND-152: wakes for its own node and not for another', async () => {
    const { time, a, b, place, read } = await setup();
    const waiting = read(a, 1);
    await settle();
    await place(b);
    await settle();
    expect(waiting.answer).toBeUndefined();
    const mine = await place(a);
    await settle();
    expect(waiting.answer?.Allocs).toEqual({ [mine.ID]: mine.AllocModifyIndex });
    expect(time.pending).toBe(0);
  });

  it('ND-152: a node that reads again after each answer waits once', async () => {
    const { queries, a, place, read } = await setup();
    let index = 1;
    for (const count of [1, 2, 3]) {
      const waiting = read(a, index);
      await settle();
      expect(queries.reads).toBe(1);
      await place(a);
      await settle();
      index = waiting.answer!.Index;
      expect([Object.keys(waiting.answer!.Allocs).length, queries.reads]).toEqual([count, 0]);
    }
  });

  it('ST-151: at the end of the wait it answers what there is', async () => {
    const { time, a, place, read } = await setup();
    const mine = await place(a);
    const waiting = read(a, mine.ModifyIndex, { MaxQueryTimeMs: 5_000 });
    await time.pass(4_999);
    expect(waiting.answer).toBeUndefined();
    await time.pass(1);
    expect(waiting.answer?.Index).toBe(mine.ModifyIndex);
    expect(time.pending).toBe(0);
  });

  it('ST-151: a read that asks for no time does not wait, and none waits longer than the limit', async () => {
    const { time, a, b, place, read } = await setup();
    const [{ ModifyIndex }] = [await place(a)];
    for (const MaxQueryTimeMs of [0, -1]) {
      const { answer } = await settled(read(a, ModifyIndex, { MaxQueryTimeMs }));
      expect([answer?.Index, time.pending]).toEqual([ModifyIndex, 0]);
    }
    const longest = read(b, 10_000, { MaxQueryTimeMs: 10 * MAX_ALLOC_QUERY_WAIT_MS });
    await time.pass(MAX_ALLOC_QUERY_WAIT_MS - 1);
    expect(longest.answer).toBeUndefined();
    await time.pass(1);
    expect(longest.answer).toBeDefined();
  });

  it('ND-153: fewer allocations than the agent knows are news, as many or more are none', async () => {
    const { state, a, b, place } = await setup();
    await place(a);
    const { ModifyIndex } = await place(a);
    await place(b);
    const indexFor = (known: number | undefined) => nodeAllocsAnswer(state.tables, a.ID, known).Index;
    expect(state.tables.allocs.tableIndex).toBeGreaterThan(ModifyIndex);
    expect([undefined, 1, 2, 3].map(indexFor)).toEqual([
      ...Array.from({ length: 3 }, () => ModifyIndex),
      state.tables.allocs.tableIndex,
    ]);
  });

  it('ND-152: a change of the node that is none of its allocations does not make a read look again', async () => {
    const { state, a, read } = await setup();
    read(a, 100);
    await settle();
    let looks = 0;
    const by = state.tables.allocs.by.bind(state.tables.allocs);
    state.tables.allocs.by = (...asked) => {
      looks++;
      return by(...asked);
    };
    const context = { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') };
    const drained = { NodeID: a.ID, Eligibility: 'ineligible', NodeEvent: null, UpdatedAt: 1 } as const;
    await state.propose(draftTxn('NodeUpdateEligibility', drained, context));
    await settle();
    expect([state.tables.nodes.get(a.ID)?.SchedulingEligibility, looks]).toEqual(['ineligible', 0]);
  });

  it('ND-152: fifty thousand reads may wait, and the next one is refused', async () => {
    const { state, queries, a, read } = await setup();
    for (let n = 0; n < 50_000; n++) {
      const ID = `node-${n}`;
      state.tables.nodes.replace(ID, { ...state.tables.nodes.get(a.ID)!, ID });
      read({ ...a, ID }, 10_000);
    }
    await settle();
    expect(queries.reads).toBe(50_000);
    const { error } = await settled(read(a, 10_000));
    expect(error).toMatchObject({ code: 'limit', message: 'too many allocation reads are waiting' });
  });

  it('a node waits once: a newer read of it answers the one before', async () => {
    const { queries, a, b, place, read } = await setup();
    const { ModifyIndex } = await place(a);
    const [given, other] = [read(a, ModifyIndex), read(b, 10_000)];
    await settle();
    const newer = read(a, ModifyIndex);
    await settle();
    expect([given.answer?.Index, newer.answer, other.answer]).toEqual([ModifyIndex, undefined, undefined]);
    expect(queries.reads).toBe(2);
  });

  it('at the end of the service every waiting read is answered with what there is', async () => {
    const { queries, a, place, read } = await setup();
    const alloc = await place(a);
    const waiting = read(a, alloc.ModifyIndex);
    await settle();
    expect(waiting.answer).toBeUndefined();
    queries.stop();
    await settle();
    expect(waiting.answer).toMatchObject({ Index: alloc.ModifyIndex });
    const late = read(a, alloc.ModifyIndex);
    await settle();
    expect([late.answer?.Index, queries.reads]).toEqual([alloc.ModifyIndex, 0]);
  });

  it('ND-153, ND-218, ST-154: returns after a deletion with a greater index, also after that of the last one', async () => {
    const { state, a, place, remove, read } = await setup();
    const first = await place(a);
    const last = await place(a);
    const shrinking = read(a, last.ModifyIndex);
    await settle();
    await remove(last.ID);
    await settle();
    expect(shrinking.answer).toEqual({
      Allocs: { [first.ID]: first.AllocModifyIndex },
      Index: state.appliedIndex,
      Terms,
    });
    const emptying = read(a, state.appliedIndex);
    await settle();
    await remove(first.ID);
    await settle();
    expect(emptying.answer).toEqual({ Allocs: {}, Index: state.appliedIndex, Terms });
  });

  it('ND-153, ND-218: what goes while nobody waits is an answer to the next read, of any process', async () => {
    const { state, a, place, remove, read } = await setup();
    const first = await place(a);
    const last = await place(a);
    await remove(first.ID);
    const shrunk = read(a, last.ModifyIndex, { Listed: 2 });
    await settle();
    expect(shrunk.answer).toEqual({ Allocs: { [last.ID]: last.AllocModifyIndex }, Index: state.appliedIndex, Terms });
    const waiting = read(a, state.appliedIndex, { Listed: 1 });
    await settle();
    expect(waiting.answer).toBeUndefined();
  });

  it('ND-156: wakes by a client write too, with AllocModifyIndex unmoved', async () => {
    const { state, a, place, read } = await setup();
    const mine = await place(a);
    const waiting = read(a, mine.ModifyIndex);
    await settle();
    await state.propose(
      draftTxn(
        'AllocClientUpdate',
        { Allocs: [fixtures.aClientUpdate(mine)], Evals: [] },
        { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') },
      ),
    );
    await settle();
    expect(waiting.answer?.Allocs).toEqual({ [mine.ID]: mine.AllocModifyIndex });
  });

  it('a node that is purged while it waits is told that it proves nothing any more (ND-151)', async () => {
    const { state, a, read } = await setup();
    const waiting = read(a, 100);
    await settle();
    await state.propose(
      draftTxn(
        'NodeDeregister',
        { NodeID: a.ID },
        { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') },
      ),
    );
    await settle();
    expect(waiting.error?.message).toBe('Permission denied');
  });

  it('ND-155: full allocations with their job, at a state no older than asked for, with the trace that placed them', async () => {
    const { state, queries, a, b, place } = await setup();
    const mine = await place(a);
    const ask = (id: string, MinStateIndex = 0) =>
      queries.allocsById({ NodeID: a.ID, SecretID: a.SecretID, AllocIDs: [id, 'unknown'], MinStateIndex });
    const answer = await ask(mine.ID);
    expect(answer.Allocs.map((alloc) => [alloc.ID, alloc.Job?.ID])).toEqual([[mine.ID, 'web']]);
    expect(answer.Index).toBe(state.appliedIndex);
    expect(answer.Traceparents).toEqual({ [mine.ID]: TRACE });
    await expect(ask(mine.ID, state.appliedIndex + 1)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(ask((await place(b)).ID)).rejects.toThrow('Permission denied');
    state.tables.allocs.replace(mine.ID, { ...mine, Job: null });
    expect((await ask(mine.ID)).Allocs[0]?.Job?.ID).toBe('web');
    state.tables.jobs.replace('default/web', undefined);
    expect((await ask(mine.ID)).Allocs[0]?.Job).toBeNull();
    const stranger = { NodeID: a.ID, SecretID: b.SecretID, AllocIDs: [mine.ID], MinStateIndex: 0 };
    await expect(queries.allocsById(stranger)).rejects.toThrow('Permission denied');
    const malformed = { ...stranger, SecretID: a.SecretID, AllocIDs: [7] as never };
    await expect(queries.allocsById(malformed)).rejects.toMatchObject({ name: 'Refusal', code: 'invalid' });
    const untraced = fixtures.anAlloc({ NodeID: a.ID });
    state.tables.allocs.replace(untraced.ID, untraced);
    expect(Object.keys((await ask(untraced.ID)).Traceparents)).toEqual([]);
  });
});
