import { nodesWriter } from '../node/nodes-writer.js';
import { TooLargeError } from '@waybill/journal';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { startTracing, tracerFor } from '@waybill/telemetry';
import {
  type AllocClientStatus,
  type Allocation,
  type ClientAllocUpdate,
  type Evaluation,
  FakeTime,
  type Job,
  newEvaluation,
  type Node,
} from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { evaluationsOfUpdates, mayReschedule } from './alloc-update-evaluations.js';
import { AllocUpdates, BATCH_WINDOW_MS, FIRST_WINDOW_MS, MAX_BATCH_ALLOCS } from './alloc-updates.js';

function setup() {
  const time = new FakeTime(1_800_000_000_000);
  const state = new LocalState(fixtures.aMachine());
  let ids = 0;
  const newId = () => `id-${ids++}`;
  const updates = new AllocUpdates({
    state,
    writer: nodesWriter(state, { clock: time, newId, region: 'global' }),
    timers: time,
    newId,
    tracer: () => tracerFor('nodes'),
  });
  const addNode = (over: Partial<Node> = {}): Node => {
    const node = fixtures.aNode(over);
    fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    return node;
  };
  const addAlloc = (node: Node, over: Partial<Allocation> = {}, job?: Job): Allocation => {
    const registered = job ?? fixtures.aRegisteredJob(state.machine, fixtures.aJob({ ID: fixtures.freshId() })).job;
    const alloc = fixtures.anAlloc({
      Job: registered,
      JobID: registered.ID,
      NodeID: node.ID,
      ClientStatus: 'running',
      AllocModifyIndex: 5,
      ...over,
    });
    state.tables.allocs.replace(alloc.ID, alloc);
    return alloc;
  };
  const send = (node: Node, ...Allocs: ClientAllocUpdate[]) =>
    updates.update({ NodeID: node.ID, SecretID: node.SecretID, Allocs });
  /** Sends and lets the window pass. */
  const commit = async (node: Node, ...allocs: ClientAllocUpdate[]) => {
    const done = send(node, ...allocs);
    void done.catch(() => undefined);
    await time.pass(BATCH_WINDOW_MS);
    return done;
  };
  return { time, state, updates, addNode, addAlloc, send, commit };
}

const says = (alloc: Allocation, over: Partial<ClientAllocUpdate> = {}) => fixtures.aClientUpdate(alloc, over);

it('the first report that a pending allocation runs is a span of its trace, and no other report is', async () => {
  const { addNode, addAlloc, commit } = setup();
  const exporter = new InMemorySpanExporter();
  const tracing = await startTracing({ service: 'nodes', processor: new SimpleSpanProcessor(exporter) });
  try {
    const node = addNode();
    const spansAfter = async (stored: AllocClientStatus, said: AllocClientStatus): Promise<number> => {
      exporter.reset();
      await commit(node, says(addAlloc(node, { ClientStatus: stored }), { ClientStatus: said }));
      return exporter.getFinishedSpans().filter(({ name }) => name === 'first running').length;
    };
    expect(await spansAfter('pending', 'running')).toBe(1);
    expect(await spansAfter('running', 'running')).toBe(0);
    expect(await spansAfter('pending', 'failed')).toBe(0);
    exporter.reset();
    const [runs, starts] = [addAlloc(node), addAlloc(node, { ClientStatus: 'pending' })];
    await commit(node, says(runs), says(starts));
    expect(exporter.getFinishedSpans().filter(({ name }) => name === 'first running')).toHaveLength(1);
  } finally {
    await tracing.stop();
  }
});

describe('allocation writes of agents', () => {
  it.each([3_600_000, 86_400_000])(
    'DP-509: health from a clock %d ms off is not decided before the placement or after now',
    async (off) => {
      const { time, state, addNode, addAlloc, commit } = setup();
      const node = addNode();
      const placedMs = time.nowMs();
      const saidAndStored = async (saidMs: number) => {
        const alloc = addAlloc(node, { CreateTime: placedMs * 1e6 });
        const Timestamp = new Date(saidMs).toISOString();
        await commit(node, says(alloc, { DeploymentStatus: { Healthy: true, Timestamp } }));
        return Date.parse(state.tables.allocs.get(alloc.ID)!.DeploymentStatus!.Timestamp!);
      };
      await time.pass(60_000);
      const writtenMs = time.nowMs() + FIRST_WINDOW_MS;
      expect(await saidAndStored(time.nowMs() + off)).toBe(writtenMs);
      expect(await saidAndStored(time.nowMs() - off)).toBe(placedMs);
      expect(await saidAndStored(placedMs + 1_000)).toBe(placedMs + 1_000);
    },
  );

  it('ND-135: what is too much for one transaction is written one node at a time; of one node alone, its agent is told', async () => {
    const { time, state, addNode, addAlloc, send } = setup();
    const [a, b] = [addNode(), addNode()];
    const propose = state.propose.bind(state);
    let most = 1;
    state.propose = (draft, options) => {
      const { Allocs } = draft.payload as { Allocs: readonly unknown[] };
      if (Allocs.length > most) return Promise.reject(new TooLargeError(draft.type, 9, 8));
      return propose(draft, options);
    };
    const both = [a, b].map((node) => send(node, says(addAlloc(node))));
    await time.pass(BATCH_WINDOW_MS);
    expect(await Promise.all(both)).toMatchObject([{ Taken: true }, { Taken: true }]);
    most = 0;
    const refused = expect(send(a, says(addAlloc(a)))).rejects.toMatchObject({ name: 'Refusal', code: 'too-large' });
    await time.pass(BATCH_WINDOW_MS);
    await refused;
  });

  it('ND-104: the checks, in order, with their texts', async () => {
    const { addNode, addAlloc, send } = setup();
    const node = addNode();
    const alloc = addAlloc(node);
    await expect(send(node)).rejects.toThrow('must update at least one allocation');
    await expect(send(node, says(alloc, { NodeID: '' }))).rejects.toThrow('missing node ID');
    await expect(send(node, says(alloc, { NodeID: 'nobody' }))).rejects.toThrow('node nobody not found');
    await expect(send({ ...node, SecretID: 'x' }, says(alloc))).rejects.toThrow('Permission denied');
    const down = addNode({ Status: 'down' });
    await expect(send(down, says(addAlloc(down)))).rejects.toThrow(
      `node ${down.ID} is not allowed to update allocs while in status down`,
    );
    await expect(send(node, says(alloc, { TaskStates: null as never }))).rejects.toThrow(
      'invalid Allocs.0.TaskStates: ',
    );
  });

  it('EB-27, ND-104: a request that brings its own evaluations is refused, and nothing is written', async () => {
    const { addNode, addAlloc, updates, state } = setup();
    const node = addNode();
    const request = { NodeID: node.ID, SecretID: node.SecretID, Allocs: [says(addAlloc(node))] };
    const before = state.appliedIndex;
    await expect(updates.update({ ...request, Evals: [fixtures.anEval()] })).rejects.toThrow(
      'evals field must not be set',
    );
    expect(updates.pending).toBe(0);
    expect(state.appliedIndex).toBe(before);
  });

  it('ND-40: allocations of another node are refused', async () => {
    const { addNode, addAlloc, send } = setup();
    const [a, b] = [addNode(), addNode()];
    const theirs = addAlloc(b);
    await expect(send(a, says(theirs))).rejects.toThrow('Permission denied');
    await expect(send(a, says(theirs, { NodeID: a.ID }))).rejects.toThrow('Permission denied');
  });

  it('ND-105, ND-107: disconnected is refused and changes nothing, initializing is admitted', async () => {
    const { state, addNode, addAlloc, send, commit } = setup();
    const [lost, back] = [addNode({ Status: 'disconnected' }), addNode({ Status: 'initializing' })];
    const before = state.history.length;
    await expect(send(lost, says(addAlloc(lost)))).rejects.toThrow('while in status disconnected');
    expect(state.history).toHaveLength(before);
    expect(state.tables.nodes.get(lost.ID)?.LastAllocUpdateIndex).toBe(0);
    const { Index } = await commit(back, says(addAlloc(back)));
    expect(state.tables.nodes.get(back.ID)?.LastAllocUpdateIndex).toBe(Index);
  });

  it('ND-105, ND-135: a node lost while its write waits is left out; only its caller hears of it', async () => {
    const { time, state, addNode, addAlloc, send } = setup();
    const [lost, well] = [addNode(), addNode()];
    const [onLost, onWell] = [addAlloc(lost), addAlloc(well)];
    const both = Promise.allSettled([
      send(lost, says(onLost, { ClientStatus: 'complete' })),
      send(well, says(onWell, { ClientStatus: 'complete' })),
    ]);
    state.tables.nodes.replace(lost.ID, { ...state.tables.nodes.get(lost.ID)!, Status: 'down' });
    await time.pass(BATCH_WINDOW_MS);
    const [first, second] = await both;
    expect(first).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining(lost.ID) } });
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(state.tables.allocs.get(onLost.ID)?.ClientStatus).toBe('running');
    expect(state.tables.allocs.get(onWell.ID)?.ClientStatus).toBe('complete');
  });

  it('ND-108, ND-112: answered with the index of the commit; the time is the arrival, AllocModifyIndex stays', async () => {
    const { state, addNode, addAlloc, commit } = setup();
    const node = addNode();
    const alloc = addAlloc(node);
    const { Index } = await commit(node, says(alloc, { ModifyTime: 1 }));
    expect(state.appliedIndex).toBe(Index);
    expect(state.tables.allocs.get(alloc.ID)).toMatchObject({
      ModifyIndex: Index,
      ModifyTime: (1_800_000_000_000 + FIRST_WINDOW_MS) * 1e6,
      AllocModifyIndex: 5,
    });
  });

  it('ND-223: of two updates of a node that know of the same one before them only the first is taken', async () => {
    const { time, state, updates, addNode, addAlloc } = setup();
    const node = addNode();
    const alloc = addAlloc(node);
    const sayAfter = (After: number, ClientStatus: 'running' | 'complete') =>
      updates.update({ NodeID: node.ID, SecretID: node.SecretID, Allocs: [says(alloc, { ClientStatus })], After });
    const { CreateIndex } = state.tables.nodes.get(node.ID)!;
    const both = Promise.all([sayAfter(CreateIndex, 'complete'), sayAfter(CreateIndex, 'running')]);
    await time.pass(BATCH_WINDOW_MS);
    const [done, late] = await both;
    expect(done).toMatchObject({ Taken: true });
    expect(late).toEqual({ Index: done.Index, Taken: false });
    expect(state.tables.allocs.get(alloc.ID)?.ClientStatus).toBe('complete');
    const next = sayAfter(done.Index, 'running');
    await time.pass(BATCH_WINDOW_MS);
    expect(await next).toMatchObject({ Taken: true });
  });

  it('ND-135: a batch has its updates in the order of arrival, one of each node, and the trace of the first traced one', async () => {
    const { time, state, updates, addNode, addAlloc } = setup();
    const nodes = [addNode(), addNode(), addNode()];
    const traces = [undefined, ...['b', 'c'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)];
    const sent = nodes.map((node, at) => {
      const alloc = addAlloc(node, { ClientStatus: 'pending' });
      void updates.update({ NodeID: node.ID, SecretID: node.SecretID, Allocs: [says(alloc)] }, traces[at]);
      return alloc.ID;
    });
    const again = addAlloc(nodes[0]!);
    void updates.update({ NodeID: nodes[0]!.ID, SecretID: nodes[0]!.SecretID, Allocs: [says(again)] });
    await time.pass(BATCH_WINDOW_MS);
    const written = state.history
      .map(({ txn }) => txn)
      .filter((txn) => txn.type === 'AllocClientUpdate')
      .map((txn) => [txn.traceparent, txn.payload.Allocs.map(({ ID }) => ID)]);
    expect(written).toEqual([
      [traces[1], sent],
      [undefined, [again.ID]],
    ]);
  });

  it('DP-509: health without a time has none, and that of an unknown allocation is not decided after now', async () => {
    const { state, time, addNode, addAlloc, commit } = setup();
    const node = addNode();
    const written = async (alloc: Allocation, Timestamp: string | null) => {
      await commit(node, says(alloc, { DeploymentStatus: { Healthy: true, Timestamp } }));
      const { payload } = state.history.at(-1)!.txn as { payload: { Allocs: ClientAllocUpdate[] } };
      return payload.Allocs[0]?.DeploymentStatus?.Timestamp;
    };
    expect(await written(addAlloc(node), null)).toBeNull();
    const later = new Date(time.nowMs() + 3_600_000).toISOString();
    const said = await written(fixtures.anAlloc({ NodeID: node.ID }), later);
    expect(Date.parse(said!)).toBe(time.nowMs());
  });

  it('ND-110: everything else that an agent sends is dropped before it reaches the log', async () => {
    const { state, addNode, addAlloc, commit } = setup();
    const node = addNode();
    const alloc = addAlloc(node);
    await commit(node, { ...says(alloc), DesiredStatus: 'stop', FollowupEvalID: 'x' } as ClientAllocUpdate);
    expect(state.tables.allocs.get(alloc.ID)).toMatchObject({ DesiredStatus: 'run', FollowupEvalID: '' });
    expect(JSON.stringify(state.history.at(-1)?.txn.payload)).not.toContain('DesiredStatus":"stop');
  });

  it('ND-120, ND-220: an unknown allocation is a success without effect', async () => {
    const { addNode, commit } = setup();
    const node = addNode();
    await expect(commit(node, says(fixtures.anAlloc({ NodeID: node.ID })))).resolves.toMatchObject({});
  });

  it('ND-219: an unknown allocation in a combined write fails nobody', async () => {
    const { time, state, addNode, addAlloc, send } = setup();
    const [first, second] = [addNode(), addNode()];
    const alloc = addAlloc(second);
    const unknown = send(first, says(fixtures.anAlloc({ NodeID: first.ID })));
    const known = send(second, says(alloc, { ClientStatus: 'complete' }));
    await time.pass(BATCH_WINDOW_MS);
    expect((await unknown).Index).toBe((await known).Index);
    expect(state.tables.allocs.get(alloc.ID)).toMatchObject({ ClientStatus: 'complete' });
  });

  it('ND-222: of two updates of one allocation the last one wins, and the summary counts it once', async () => {
    const { state, addNode, addAlloc, commit } = setup();
    const alloc = addAlloc(addNode(), { ClientStatus: 'pending' });
    const node = state.tables.nodes.get(alloc.NodeID)!;
    const counts = () => state.tables.job_summary.get(`default/${alloc.JobID}`)!.Summary[alloc.TaskGroup]!;
    const before = counts();
    await commit(node, says(alloc, { ClientStatus: 'running' }), says(alloc, { ClientStatus: 'complete' }));
    expect(state.tables.allocs.get(alloc.ID)).toMatchObject({ ClientStatus: 'complete' });
    expect(counts()).toMatchObject({ Running: before.Running, Complete: before.Complete + 1 });
  });

  it('ND-135: writes within 50 ms of the first are one transaction with one index', async () => {
    const { time, state, addNode, addAlloc, send, commit } = setup();
    const nodes = [addNode(), addNode(), addNode()];
    const allocs = nodes.map((node) => addAlloc(node));
    await commit(nodes[0]!, says(allocs[0]!));
    const before = state.history.length;
    await time.pass(FIRST_WINDOW_MS - 1); // still within 50 ms of the last write
    const first = send(nodes[0]!, says(allocs[0]!));
    await time.pass(BATCH_WINDOW_MS - 1);
    const second = send(nodes[1]!, says(allocs[1]!));
    expect(time.pending).toBe(1);
    await time.pass(1);
    const third = send(nodes[2]!, says(allocs[2]!));
    await time.pass(BATCH_WINDOW_MS);
    expect((await first).Index).toBe((await second).Index);
    expect((await third).Index).toBe((await first).Index + 1);
    expect(state.history).toHaveLength(before + 2);
  });

  it('ND-135: after 50 ms without a write, the first does not wait for others that long', async () => {
    const { time, state, addNode, addAlloc, send } = setup();
    const nodes = [addNode(), addNode(), addNode()];
    const before = state.history.length;
    const [first, second] = [send(nodes[0]!, says(addAlloc(nodes[0]!))), send(nodes[1]!, says(addAlloc(nodes[1]!)))];
    await time.pass(FIRST_WINDOW_MS);
    expect((await first).Index).toBe((await second).Index);
    expect(state.history).toHaveLength(before + 1);
    await time.pass(BATCH_WINDOW_MS);
    void send(nodes[2]!, says(addAlloc(nodes[2]!)));
    await time.pass(FIRST_WINDOW_MS);
    expect(state.history).toHaveLength(before + 2);
  });

  it('ND-136: when the transaction fails, every caller gets the error', async () => {
    const { time, state, addNode, addAlloc, send } = setup();
    const nodes = [addNode(), addNode()];
    state.failure = new Error('the log is gone');
    const all = Promise.allSettled(nodes.map((node) => send(node, says(addAlloc(node)))));
    await time.pass(BATCH_WINDOW_MS);
    for (const result of await all) expect(result).toMatchObject({ status: 'rejected', reason: state.failure });
  });

  it('ND-223: a node that waits for its answers sees its last state win', async () => {
    const { state, addNode, addAlloc, commit } = setup();
    const node = addNode();
    const alloc = addAlloc(node, { ClientStatus: 'pending' });
    await commit(node, says(alloc, { ClientStatus: 'running' }));
    await commit(node, says(alloc, { ClientStatus: 'complete' }));
    expect(state.tables.allocs.get(alloc.ID)?.ClientStatus).toBe('complete');
  });
});

describe('evaluations of allocation writes', () => {
  const NOW = 1.8e18;
  function triggers(
    stored: Partial<Allocation>,
    sent: Partial<ClientAllocUpdate>,
    change: {
      job?: 'gone';
      group?: 'gone';
      reschedule?: Partial<NonNullable<Job['TaskGroups'][0]['ReschedulePolicy']>>;
      /** Status of the evaluation `f`. */
      followup?: Evaluation['Status'];
    } = {},
  ): string[] {
    const { state, addNode, addAlloc } = setup();
    if (change.followup) {
      const made = newEvaluation({
        ID: 'f',
        Namespace: 'default',
        JobID: 'web',
        Type: 'service',
        Priority: 50,
        TriggeredBy: 'alloc-failure',
        CreateTime: 1,
      });
      state.tables.evals.replace('f', { ...made, Status: change.followup });
    }
    const node = addNode();
    const alloc = addAlloc(node, stored);
    const key = `default/${alloc.JobID}`;
    const job = state.tables.jobs.get(key)!;
    if (change.job === 'gone') state.tables.jobs.replace(key, undefined);
    const [group] = job.TaskGroups;
    if (change.group === 'gone') state.tables.jobs.replace(key, { ...job, TaskGroups: [{ ...group!, Name: 'other' }] });
    if (change.reschedule) {
      const policy = { ...group!.ReschedulePolicy!, Unlimited: false, ...change.reschedule };
      state.tables.jobs.replace(key, { ...job, TaskGroups: [{ ...group!, ReschedulePolicy: policy }] });
    }
    return evaluationsOfUpdates(state.tables, [says(alloc, sent)], NOW, () => 'e').map((e) => e.TriggeredBy);
  }

  it('EB-28, ND-126, ND-128, ND-130, ND-131: the table of the section', () => {
    expect(triggers({ ClientStatus: 'running' }, { ClientStatus: 'failed' })).toEqual(['alloc-failure']);
    expect(triggers({ ClientStatus: 'unknown' }, { ClientStatus: 'running' })).toEqual(['reconnect']);
    expect(triggers({ ClientStatus: 'unknown' }, { ClientStatus: 'failed' })).toEqual(['reconnect']);
    expect(triggers({ ClientStatus: 'pending' }, { ClientStatus: 'running' })).toEqual([]);
    expect(triggers({ ClientStatus: 'running' }, { ClientStatus: 'running' })).toEqual([]);
    expect(triggers({ ClientStatus: 'running' }, { ClientStatus: 'complete' })).toEqual([]);
    expect(triggers({ ClientStatus: 'complete' }, { ClientStatus: 'complete' })).toEqual([]);
  });

  it('EB-28, ND-127: a job that is gone', () => {
    expect(triggers({}, { ClientStatus: 'complete' }, { job: 'gone' })).toEqual(['job-deregister']);
    expect(triggers({ ClientStatus: 'unknown' }, { ClientStatus: 'running' }, { job: 'gone' })).toEqual([
      'job-deregister',
    ]);
    expect(triggers({ Job: null }, { ClientStatus: 'complete' }, { job: 'gone' })).toEqual([]);
  });

  it('EB-28, ND-128, ND-129: no evaluation with a follow-up waiting, or without the group', () => {
    const waits = { followup: 'pending' } as const;
    expect(triggers({ FollowupEvalID: 'f' }, { ClientStatus: 'failed' }, waits)).toEqual([]);
    expect(triggers({}, { ClientStatus: 'failed' }, { group: 'gone' })).toEqual([]);
    expect(triggers({ ClientStatus: 'unknown' }, { ClientStatus: 'failed' }, { group: 'gone' })).toEqual([]);
    expect(triggers({ ClientStatus: 'unknown' }, { ClientStatus: 'running' }, { group: 'gone' })).toEqual([
      'reconnect',
    ]);
    expect(triggers({ NextAllocation: 'next' }, { ClientStatus: 'failed' })).toEqual(['alloc-failure']);
  });

  it('ND-110, ND-128: a follow-up that has ended decides no more of work that runs again and fails again', () => {
    const fails = { ClientStatus: 'failed' } as const;
    const ended = { followup: 'complete' } as const;
    expect(triggers({ FollowupEvalID: 'f' }, fails, ended)).toEqual(['alloc-failure']);
    expect(triggers({ FollowupEvalID: 'collected' }, fails)).toEqual(['alloc-failure']);
    expect(triggers({ FollowupEvalID: 'f', NextAllocation: 'next' }, fails, ended)).toEqual([]);
  });

  it('ND-110: one that had ended, was replaced and runs again: its job is looked at', () => {
    const runs = { ClientStatus: 'running' } as const;
    expect(triggers({ ClientStatus: 'failed', NextAllocation: 'next' }, runs)).toEqual(['reconnect']);
    expect(triggers({ ClientStatus: 'failed', NextAllocation: 'next' }, { ClientStatus: 'complete' })).toEqual([]);
    expect(triggers({ ClientStatus: 'running', NextAllocation: 'next' }, runs)).toEqual([]);
    expect(triggers({ ClientStatus: 'failed' }, runs)).toEqual([]);
    const stopped = { ClientStatus: 'failed', NextAllocation: 'next', DesiredStatus: 'stop' } as const;
    expect(triggers(stopped, runs)).toEqual([]);
  });

  it('EB-28, ND-132, SC-15: none when the attempts of the interval are used up, one when one of them is older than that', () => {
    const policy = {
      Attempts: 1,
      Interval: 3600e9,
      Delay: 0,
      DelayFunction: 'constant',
      MaxDelay: 0,
      Unlimited: false,
    };
    const at = (RescheduleTime: number) => ({
      RescheduleTracker: {
        Events: [{ RescheduleTime, PrevAllocID: '', PrevNodeID: '', Delay: 0 }],
        LastReschedule: '',
      },
    });
    expect(mayReschedule({ RescheduleTracker: null }, policy, NOW)).toBe(true);
    expect(mayReschedule(at(NOW - 3599e9), policy, NOW)).toBe(false);
    expect(mayReschedule(at(NOW - 3600e9), policy, NOW)).toBe(true);
    expect(mayReschedule(at(NOW), { ...policy, Unlimited: true }, NOW)).toBe(true);
    expect(mayReschedule({ RescheduleTracker: null }, { ...policy, Attempts: 0 }, NOW)).toBe(false);
    expect(mayReschedule({ RescheduleTracker: null }, { ...policy, Interval: 0 }, NOW)).toBe(false);
    expect(mayReschedule({ RescheduleTracker: null }, { ...policy, Interval: 1 }, NOW)).toBe(true);
    expect(mayReschedule(at(NOW - 3599e9), { ...policy, Attempts: 2 }, NOW)).toBe(true);
    expect(mayReschedule({ RescheduleTracker: null }, null, NOW)).toBe(false);
    expect(triggers({}, { ClientStatus: 'failed' }, { reschedule: { Attempts: 0 } })).toEqual([]);
  });

  it('EB-28, ND-125, ND-133, ND-134: one per job, pending, without a time to wait for; none for an unknown allocation', () => {
    const { state, addNode, addAlloc } = setup();
    const node = addNode();
    const { job } = fixtures.aRegisteredJob(state.machine, fixtures.aJob({ ID: 'web', Priority: 70 }));
    const failed = [addAlloc(node, {}, job), addAlloc(node, {}, job)].map((a) => says(a, { ClientStatus: 'failed' }));
    const unknown = says(fixtures.anAlloc(), { ClientStatus: 'failed' });
    const evals = evaluationsOfUpdates(state.tables, [unknown, ...failed], NOW, fixtures.freshId);
    const unknownBefore = addAlloc(node, { ClientStatus: 'unknown' }, job);
    const later = [...failed, says(unknownBefore)];
    expect(evaluationsOfUpdates(state.tables, later, NOW, fixtures.freshId).map((e) => e.TriggeredBy)).toEqual([
      'alloc-failure',
    ]);
    expect(evals).toHaveLength(1);
    expect(evals[0]).toMatchObject({
      JobID: 'web',
      Priority: 70,
      Status: 'pending',
      WaitUntil: null,
      NodeID: '',
      CreateTime: NOW,
      ModifyTime: NOW,
    });
  });
});

it('ND-136: 50,000 allocations may wait to be written; what is more is refused, and taken again when they are', async () => {
  const { state, updates, addNode, addAlloc, commit, send, time } = setup();
  const node = addNode();
  const alloc = addAlloc(node);
  const many = Array.from({ length: 50_000 }, () => says(alloc));
  const refusal = { code: 'limit', message: 'too many allocation updates are waiting' };
  await expect(send(node, ...many, says(alloc))).rejects.toMatchObject(refusal);
  expect(updates.pending).toBe(0);
  const propose = state.propose.bind(state);
  let answer = (): void => {};
  state.propose = async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    throw new Error('the log is away');
  };
  const waiting = expect(send(node, ...many)).rejects.toThrow('the log is away');
  await time.pass(BATCH_WINDOW_MS);
  expect(updates.pending).toBe(50_000);
  await expect(send(node, says(alloc))).rejects.toMatchObject(refusal);
  answer();
  await waiting;
  expect(updates.pending).toBe(0);
  state.propose = propose;
  expect((await commit(node, says(alloc))).Taken).toBe(true);
});

describe('batches', () => {
  /** Reports about allocations that the servers do not know, which the state ignores (ND-120). */
  const unknown = (node: Node, count: number) =>
    Array.from({ length: count }, () => fixtures.aClientUpdate(fixtures.anAlloc({ NodeID: node.ID, Job: null })));
  const sizes = (state: LocalState) =>
    state.history.map(({ txn }) => (txn.type === 'AllocClientUpdate' ? txn.payload.Allocs.length : 0));

  it('ND-107: are written as soon as they are full, and not beyond that', async () => {
    const { time, state, updates, addNode, send } = setup();
    const [a, b] = [addNode(), addNode()];
    void send(a, ...unknown(a, MAX_BATCH_ALLOCS - 1));
    void send(b, ...unknown(b, 1));
    await time.pass(0);
    expect([sizes(state), updates.pending]).toEqual([[MAX_BATCH_ALLOCS], 0]);
    void send(a, ...unknown(a, MAX_BATCH_ALLOCS - 1));
    await time.pass(0);
    expect(sizes(state)).toHaveLength(1);
    void send(b, ...unknown(b, 2));
    await time.pass(0);
    expect([sizes(state), updates.pending]).toEqual([[MAX_BATCH_ALLOCS, MAX_BATCH_ALLOCS - 1], 2]);
    await time.pass(BATCH_WINDOW_MS);
    expect(sizes(state).at(-1)).toBe(2);
  });

  it('ND-107: one that is full alone is written as it is', async () => {
    const { time, state, addNode, send } = setup();
    const node = addNode();
    void send(node, ...unknown(node, MAX_BATCH_ALLOCS + 1));
    await time.pass(0);
    expect([sizes(state), time.pending]).toEqual([[MAX_BATCH_ALLOCS + 1], 0]);
  });

  it('a flush of nothing writes nothing', async () => {
    const { time, state, updates } = setup();
    updates.flush();
    await time.pass(BATCH_WINDOW_MS);
    expect(state.history).toEqual([]);
  });

  it('ND-104: a request without allocations, with evaluations, or with one allocation of another node is refused', async () => {
    const { updates, addNode, addAlloc } = setup();
    const [node, other] = [addNode(), addNode()];
    const [own, foreign] = [says(addAlloc(node)), says(addAlloc(other))];
    const ask = (over: object) => updates.update({ NodeID: node.ID, SecretID: node.SecretID, Allocs: [own], ...over });
    for (const Allocs of [[], undefined]) await expect(ask({ Allocs })).rejects.toThrow('must update at least one');
    await expect(ask({ Allocs: {} })).rejects.toMatchObject({ name: 'Refusal', code: 'invalid' });
    await expect(ask({ Evals: [{}] })).rejects.toThrow('evals field must not be set');
    for (const Allocs of [
      [own, foreign],
      [own, { ...foreign, NodeID: node.ID }],
    ])
      await expect(ask({ Allocs })).rejects.toThrow('Permission denied');
    void ask({ Evals: [] });
    expect(updates.pending).toBe(1);
  });
});
