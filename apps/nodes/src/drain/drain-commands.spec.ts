import { eventsOf } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Draining, MINUTE, SECOND } from './draining.fixture.js';

describe('asking for a drain', () => {
  it('DR-1: checks in order, and nothing is written', async () => {
    const d = new Draining();
    const node = await d.node();
    const before = d.state.appliedIndex;
    const spec = { Deadline: 0, IgnoreSystemJobs: false };
    const asked = { DrainSpec: spec, MarkEligible: false, Meta: null, UpdatedBy: '', For: d.by() };
    await expect(d.commands.updateDrain({ ...asked, NodeID: '', NodeEvent: {} })).rejects.toThrow(
      'missing node ID for drain update',
    );
    await expect(d.commands.updateDrain({ ...asked, NodeID: 'gone', NodeEvent: {} })).rejects.toThrow(
      'node event must not be set',
    );
    await expect(d.commands.updateDrain({ ...asked, NodeID: 'gone' })).rejects.toThrow('node not found');
    expect(d.state.appliedIndex).toBe(before);
    expect(d.stored(node).DrainStrategy).toBeNull();
  });

  it('API-201, API-202, DR-3 DR-4 DR-5 DR-7: the start stays, the deadline counts anew, the node is ineligible', async () => {
    const d = new Draining();
    const node = await d.node();
    const startedMs = d.time.nowMs();
    const answer = await d.drain(node, 10 * MINUTE * 1e6);
    expect(answer).toMatchObject({ NodeModifyIndex: answer.Index, EvalIDs: [], SchedulingEligibility: 'ineligible' });
    const StartedAt = new Date(startedMs).toISOString();
    const at = (ms: number) => new Date(startedMs + ms).toISOString();
    expect(d.stored(node).DrainStrategy).toMatchObject({ StartedAt, ForceDeadline: at(10 * MINUTE) });
    await d.time.pass(MINUTE);
    await d.drain(node, 10 * MINUTE * 1e6);
    expect(d.stored(node).DrainStrategy).toMatchObject({ StartedAt, ForceDeadline: at(11 * MINUTE) });
    await d.drain(node, -1);
    expect(d.stored(node).DrainStrategy!.ForceDeadline).toBeNull();
    await d.drain(node, 1);
    expect(d.stored(node).DrainStrategy!.ForceDeadline).toBe(at(MINUTE));
    expect(d.messages(node).slice(1)).toEqual([
      'Node drain strategy set',
      ...Array.from({ length: 3 }, () => 'Node drain strategy updated'),
    ]);
  });

  it('DR-2 DR-10 DR-12 DR-13: who began it and who changed it, in whole seconds, each write a change of the node', async () => {
    const d = new Draining();
    const node = await d.node();
    const ask = (UpdatedBy: string, Meta: Record<string, string> | null) =>
      d.commands.updateDrain({
        NodeID: node,
        DrainSpec: { Deadline: 10 * MINUTE * 1e6, IgnoreSystemJobs: false },
        MarkEligible: false,
        Meta,
        UpdatedBy,
        For: d.by(),
      });
    const second = () => new Date(Math.floor(d.time.nowMs() / SECOND) * SECOND).toISOString();
    await d.time.pass(300);
    const StartedAt = second();
    const first = await ask('token:one', { why: 'a' });
    expect(d.stored(node)).toMatchObject({
      ModifyIndex: first.Index,
      StatusUpdatedAt: Math.floor(d.time.nowMs() / SECOND),
      LastDrain: { StartedAt, UpdatedAt: StartedAt, Status: 'draining', AccessorID: 'token:one', Meta: { why: 'a' } },
    });
    await d.time.pass(MINUTE);
    const changed = await ask('token:two', null);
    expect(d.stored(node)).toMatchObject({
      ModifyIndex: changed.Index,
      StatusUpdatedAt: Math.floor(d.time.nowMs() / SECOND),
      LastDrain: { StartedAt, UpdatedAt: second(), Status: 'draining', AccessorID: 'token:two', Meta: { why: 'a' } },
    });
    const ended = await d.cancel(node);
    expect(d.stored(node)).toMatchObject({ ModifyIndex: ended.Index, DrainStrategy: null });
    const events = d.state.history.flatMap((applied) => eventsOf(applied)?.Events ?? []);
    expect(events.filter(({ Type }) => Type === 'NodeDrain').map(({ Index }) => Index)).toEqual([
      first.Index,
      changed.Index,
      ended.Index,
    ]);
  });

  it('DR-17 DR-80: a machine drains itself with its own secret, and is told when that is over', async () => {
    const d = new Draining();
    const [node, other] = [await d.node(), await d.node()];
    await d.lead();
    const { SecretID } = d.stored(node);
    const DrainSpec = { Deadline: -1, IgnoreSystemJobs: false };
    const Meta = { message: 'shutting down' };
    const asked = { NodeID: node, SecretID, RequestID: 'leaving', DrainSpec, Meta };
    for (const stranger of [d.stored(other).SecretID, ''])
      await expect(d.commands.drainSelf({ ...asked, SecretID: stranger })).rejects.toThrow('Permission denied');
    await expect(d.commands.drainSelf({ ...asked, DrainSpec: 7 as never })).rejects.toMatchObject({ code: 'invalid' });
    const { Index } = await d.commands.drainSelf(asked);
    const who = { AccessorID: `client:${node}`, Meta };
    expect(d.stored(node)).toMatchObject({ SchedulingEligibility: 'ineligible', LastDrain: who });
    expect(d.state.history.at(-1)!.txn.actor).toMatchObject({ Kind: 'node', ID: node });
    const state = (secret = SecretID) =>
      d.commands.selfDrainState({ NodeID: node, SecretID: secret, MinStateIndex: Index });
    expect(await state()).toEqual({ Draining: true });
    const ahead = { NodeID: node, SecretID, MinStateIndex: Index + 1 };
    await expect(d.commands.selfDrainState(ahead)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(state('guessed')).rejects.toThrow('Permission denied');
    await d.time.pass(0);
    expect(await state()).toEqual({ Draining: false });
    expect(d.stored(node).LastDrain).toMatchObject({ Status: 'complete', ...who });
  });

  it('DR-16 DR-83: a machine that registers again in the middle changes nothing of its drain, nor of the last one', async () => {
    const d = new Draining();
    const node = await d.node();
    await d.drain(node);
    const described = {
      ...d.stored(node),
      DrainStrategy: null,
      LastDrain: null,
      SchedulingEligibility: 'eligible',
    } as const;
    const { DrainStrategy, LastDrain } = d.stored(node);
    await d.write('NodeRegister', { Node: described, CreateNodePool: false });
    expect(d.stored(node)).toMatchObject({ DrainStrategy, LastDrain, SchedulingEligibility: 'ineligible' });
    await d.cancel(node);
    const { LastDrain: canceled } = d.stored(node);
    await d.write('NodeRegister', { Node: described, CreateNodePool: false });
    expect(d.stored(node)).toMatchObject({ DrainStrategy: null, LastDrain: canceled });
    expect(canceled).toMatchObject({ Status: 'canceled' });
  });

  it('API-202, API-203, DR-6 DR-7 DR-8 DR-14: a cancel leaves it ineligible unless asked; without a drain it is still a write', async () => {
    const d = new Draining();
    const node = await d.node();
    await d.drain(node);
    await d.cancel(node, false, { cancel_message: 'oops' });
    expect(d.stored(node)).toMatchObject({
      DrainStrategy: null,
      SchedulingEligibility: 'ineligible',
      LastDrain: { Status: 'canceled', AccessorID: 'token:acls-disabled', Meta: { cancel_message: 'oops' } },
    });
    expect(d.messages(node).at(-1)).toBe('Node drain disabled');
    const events = d.messages(node).length;
    const { LastDrain } = d.stored(node);
    const again = await d.cancel(node, true);
    expect(d.stored(node)).toMatchObject({ SchedulingEligibility: 'eligible', ModifyIndex: again.Index, LastDrain });
    expect(d.messages(node)).toHaveLength(events);
  });

  it('DR-9 ND-93: what makes it eligible again creates its evaluations; starting and changing a drain do not', async () => {
    const d = new Draining();
    const node = await d.node();
    const job = await d.job(1);
    await d.place(job, node);
    expect((await d.drain(node)).EvalIDs).toEqual([]);
    const canceled = await d.cancel(node, true);
    expect(canceled.EvalIDs.map((id) => d.state.tables.evals.get(id))).toMatchObject([
      { JobID: job.ID, TriggeredBy: 'node-update', NodeModifyIndex: canceled.NodeModifyIndex },
    ]);
    expect((await d.cancel(node, true)).EvalIDs).toEqual([]);
  });

  it('DR-19: a node that is down may be drained', async () => {
    const d = new Draining();
    const node = await d.node({ Status: 'down' });
    await d.drain(node);
    expect(d.stored(node).DrainStrategy).not.toBeNull();
  });

  it('DR-3 ND-31: a drain asked for while another writes the node is decided on what that left', async () => {
    const d = new Draining();
    const node = await d.node();
    await d.drain(node);
    const { StartedAt } = d.stored(node).DrainStrategy!;
    // A completion moves the node's index, not its subject: the first attempt meets a conflict.
    await d.write('BatchNodeUpdateDrain', {
      Updates: { [node]: { DrainStrategy: null, MarkEligible: false, StartedAt } },
      NodeEvents: {},
      UpdatedAt: 1,
    });
    await d.time.pass(SECOND);
    await d.drain(node);
    expect(d.stored(node).DrainStrategy!.StartedAt).not.toBe(StartedAt);
  });
});

describe('eligibility', () => {
  const setup = async () => {
    const d = new Draining();
    const node = await d.node();
    const set = (Eligibility: string, over = {}) =>
      d.commands.updateEligibility({ NodeID: node, Eligibility, For: d.by(), ...over });
    return { d, node, set };
  };

  it('ND-90, DR-2: the time of a change of eligibility and of a drain is written in seconds', async () => {
    const { d, node, set } = await setup();
    const written = () =>
      d.state.history.flatMap(({ txn: { payload } }) => ('UpdatedAt' in payload ? [payload.UpdatedAt] : [])).at(-1);
    const nowS = Math.floor(d.time.nowMs() / 1_000);
    await set('ineligible');
    expect(written()).toBe(nowS);
    await d.drain(node);
    expect(written()).toBe(nowS);
    await d.lead();
    await d.time.pass(2_000); // nothing runs there: the drain is complete
    expect([d.stored(node).DrainStrategy, written()]).toEqual([null, Math.floor(d.time.nowMs() / 1_000) - 1]);
  });

  it('ND-90: checks in order, and nothing is written', async () => {
    const { d, node, set } = await setup();
    await d.drain(node);
    const before = d.state.appliedIndex;
    await expect(set('no', { NodeID: '', NodeEvent: {} })).rejects.toThrow(
      'missing node ID for setting scheduling eligibility',
    );
    await expect(set('no', { NodeEvent: {} })).rejects.toThrow('node event must not be set');
    await expect(set('no', { NodeID: 'gone' })).rejects.toThrow('invalid scheduling eligibility "no"');
    await expect(set('eligible', { NodeID: 'gone' })).rejects.toThrow('node not found');
    await expect(set('eligible')).rejects.toThrow(
      "can not set node's scheduling eligibility to eligible while it is draining",
    );
    expect(await set('ineligible')).toMatchObject({ Index: 0 }); // ND-95
    expect(d.state.appliedIndex).toBe(before);
  });

  it('ND-91 ND-92 ND-93: a change is written with its event, and only becoming eligible creates evaluations', async () => {
    const { d, node, set } = await setup();
    await d.place(await d.job(1), node);
    expect(await set('eligible')).toMatchObject({ Index: 0, NodeModifyIndex: 0, EvalIDs: [], EvalCreateIndex: 0 });
    const off = await set('ineligible');
    expect(off).toMatchObject({ EvalIDs: [], EvalCreateIndex: 0 });
    expect(d.stored(node)).toMatchObject({ SchedulingEligibility: 'ineligible', ModifyIndex: off.Index });
    expect((await set('eligible')).EvalIDs).toHaveLength(1);
    expect(d.messages(node).slice(1)).toEqual([
      'Node marked as ineligible for scheduling',
      'Node marked as eligible for scheduling',
    ]);
  });

  it('ND-96: a node that is purged right after the change is answered as it was', async () => {
    const { d, node, set } = await setup();
    d.state.onApplied(() => d.state.tables.nodes.replace(node, undefined));
    expect(await set('ineligible')).toMatchObject({ SchedulingEligibility: 'eligible', EvalIDs: [] });
  });

  it('ND-94: work on a node that is made ineligible is left alone', async () => {
    const { d, node, set } = await setup();
    const [alloc] = await d.place(await d.job(1), node);
    const before = d.state.tables.allocs.get(alloc!.ID);
    await set('ineligible');
    await d.time.pass(MINUTE);
    expect(d.state.tables.allocs.get(alloc!.ID)).toBe(before);
    expect(d.drainEvals()).toEqual([]);
  });

  it('ND-95 ND-96: ineligible while draining is allowed and writes nothing; the index is that of the write', async () => {
    const { d, node, set } = await setup();
    const { Index } = await d.drain(node);
    expect(await set('ineligible')).toMatchObject({ Index: 0, NodeModifyIndex: 0 });
    expect(d.stored(node)).toMatchObject({ ModifyIndex: Index, SchedulingEligibility: 'ineligible' });
    await d.cancel(node);
    const answer = await set('eligible');
    expect(d.stored(node).ModifyIndex).toBe(answer.Index);
  });
});
