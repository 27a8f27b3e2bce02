import type { DrainStrategy, Node, NodeEvent } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aMachine, aNode, apply } = fixtures;
const DRAIN: DrainStrategy = { Deadline: 3_600e9, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
const anEvent = (Message: string): NodeEvent => ({
  Message,
  Subsystem: 'Driver',
  Details: null,
  Timestamp: '2026-01-01T00:00:00Z',
  CreateIndex: 0,
});

function register(machine: StateMachine, node: Node, CreateNodePool = false): Node {
  apply(machine, 'NodeRegister', { Node: node, CreateNodePool });
  return stored(machine, node);
}

const stored = (machine: StateMachine, node: Node): Node => machine.tables.nodes.get(node.ID)!;

function setStatus(machine: StateMachine, node: Node, Status: Node['Status'], UpdatedAt = 1_800_000_000): Node {
  apply(machine, 'NodeUpdateStatus', { NodeID: node.ID, Status, UpdatedAt, NodeEvent: null, IdentitySigningKeyID: '' });
  return stored(machine, node);
}

function drain(machine: StateMachine, node: Node, strategy: DrainStrategy | null, over: object = {}): Node {
  apply(machine, 'NodeUpdateDrain', {
    NodeID: node.ID,
    DrainStrategy: strategy,
    MarkEligible: false,
    NodeEvent: null,
    UpdatedAt: 1_800_000_000,
    Meta: {},
    UpdatedBy: '',
    ...over,
  });
  return stored(machine, node);
}

const complete = (machine: StateMachine, nodes: readonly Node[], UpdatedAt = 1_800_000_000) =>
  apply(machine, 'BatchNodeUpdateDrain', {
    Updates: Object.fromEntries(
      nodes.map(({ ID }) => [ID, { DrainStrategy: null, MarkEligible: false, StartedAt: DRAIN.StartedAt }]),
    ),
    NodeEvents: Object.fromEntries(nodes.map(({ ID }) => [ID, anEvent('complete')])),
    UpdatedAt,
  });

describe('node registration', () => {
  it('ST-30: an unknown node is inserted with one event', () => {
    const machine = aMachine();
    const node = register(machine, aNode({ StatusUpdatedAt: 1_767_225_600 }));
    expect(node.CreateIndex).toBe(2);
    expect(node.ModifyIndex).toBe(2);
    expect(node.Events).toEqual([
      {
        Message: 'Node registered',
        Subsystem: 'Cluster',
        Details: null,
        Timestamp: '2026-01-01T00:00:00.000Z',
        CreateIndex: 2,
      },
    ]);
  });

  it('ST-31: a known node keeps what an agent may not change', () => {
    const machine = aMachine();
    const first = register(machine, aNode());
    const draining = drain(machine, first, DRAIN, { UpdatedBy: 'someone' });
    const again = register(
      machine,
      aNode({ ID: first.ID, Name: 'renamed', SchedulingEligibility: 'eligible', DrainStrategy: null, LastDrain: null }),
    );
    expect(again).toMatchObject({
      Name: 'renamed',
      CreateIndex: first.CreateIndex,
      ModifyIndex: 4,
      SchedulingEligibility: 'ineligible',
      DrainStrategy: DRAIN,
      LastDrain: draining.LastDrain,
      Events: draining.Events,
    });
  });

  it('ST-32: leaving `down` by a registration is an event', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    setStatus(machine, node, 'down');
    const again = register(machine, aNode({ ID: node.ID, Status: 'initializing' }));
    expect(again.Events.map((event) => event.Message)).toEqual(['Node registered', 'Node re-registered']);
    expect(register(machine, again).Events).toHaveLength(2);
  });

  it('ST-33: the pool of a node is created with it, when asked for', () => {
    const machine = aMachine();
    register(machine, aNode({ NodePool: 'gpu' }));
    expect(machine.tables.node_pools.has('gpu')).toBe(false);
    const applied = apply(machine, 'NodeRegister', { Node: aNode({ NodePool: 'gpu' }), CreateNodePool: true });
    expect(machine.tables.node_pools.get('gpu')).toMatchObject({ Description: '', CreateIndex: 3, ModifyIndex: 3 });
    expect(eventsOf(applied)!.Events.map((event) => event.Topic)).toEqual(['NodePool', 'Node']);
  });

  it('ST-36: the index of a missed heartbeat is set on the way out, and a registration keeps the larger', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const down = setStatus(machine, node, 'down');
    expect(down.LastMissedHeartbeatIndex).toBe(3);
    const again = register(machine, aNode({ ID: node.ID, Status: 'down', LastAllocUpdateIndex: 1 }));
    expect(again).toMatchObject({ LastMissedHeartbeatIndex: 3, LastAllocUpdateIndex: 1 });
    const back = register(machine, aNode({ ID: node.ID, Status: 'initializing', LastMissedHeartbeatIndex: 9 }));
    expect(back).toMatchObject({ LastMissedHeartbeatIndex: 9, LastAllocUpdateIndex: 1 });
    expect(register(machine, aNode({ ID: node.ID, Status: 'disconnected' })).LastMissedHeartbeatIndex).toBe(6);
  });

  it('deregisters, and refuses an unknown node by name', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const applied = apply(machine, 'NodeDeregister', { NodeID: node.ID });
    expect(machine.tables.nodes.size).toBe(0);
    expect(eventsOf(applied)!.Events[0]).toMatchObject({ Topic: 'Node', Type: 'NodeDeregistration', Key: node.ID });
    expect(apply(machine, 'NodeDeregister', { NodeID: node.ID }).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: `node not found: ${node.ID}`,
    });
  });

  it('ST-16 ND-140 ND-178: a batch leaves out who is gone or came back since the scan, and says who went', () => {
    const machine = aMachine();
    const [gone, back, purged] = [register(machine, aNode()), register(machine, aNode()), register(machine, aNode())];
    const ScanIndex = machine.appliedIndex;
    apply(machine, 'NodeDeregister', { NodeID: gone.ID });
    register(machine, aNode({ ID: back.ID }));
    const NodeIDs = [gone.ID, back.ID, purged.ID];
    const applied = apply(machine, 'NodeBatchDeregister', { NodeIDs, ScanIndex });
    expect([...machine.tables.nodes.all()].map((node) => node.ID)).toEqual([back.ID]);
    expect(eventsOf(applied)!.Events).toMatchObject([
      { Topic: 'Node', Type: 'NodeDeregistration', Key: purged.ID, Payload: { Node: { Name: purged.Name } } },
    ]);
    expect(apply(machine, 'NodeBatchDeregister', { NodeIDs: [], ScanIndex }).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'node ids missing',
    });
  });
});

describe('node status and events', () => {
  it('ST-37: the last ten events are kept, newest last', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const NodeEvents = { [node.ID]: Array.from({ length: 12 }, (_, i) => anEvent(`event ${i}`)) };
    apply(machine, 'UpsertNodeEvents', { NodeEvents });
    const { Events } = stored(machine, node);
    expect(Events.map((event) => event.Message)).toEqual(Array.from({ length: 10 }, (_, i) => `event ${i + 2}`));
    expect(Events.every((event) => event.CreateIndex === 3)).toBe(true);
  });

  it('ST-38: a status update sets status, time and event, and the signing key only if given', () => {
    const machine = aMachine();
    const node = register(machine, aNode({ IdentitySigningKeyID: 'old' }));
    const update = { NodeID: node.ID, Status: 'down' as const, UpdatedAt: 1_800_000_001, NodeEvent: anEvent('missed') };
    apply(machine, 'NodeUpdateStatus', { ...update, IdentitySigningKeyID: '' });
    expect(stored(machine, node)).toMatchObject({
      Status: 'down',
      StatusUpdatedAt: 1_800_000_001,
      ModifyIndex: 3,
      IdentitySigningKeyID: 'old',
    });
    expect(stored(machine, node).Events.at(-1)).toEqual({ ...anEvent('missed'), CreateIndex: 3 });
    apply(machine, 'NodeUpdateStatus', { ...update, IdentitySigningKeyID: 'new' });
    expect(stored(machine, node).IdentitySigningKeyID).toBe('new');
  });

  it('ST-39: becoming ready clears the missed heartbeat, nothing between does', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    expect(setStatus(machine, node, 'ready').LastMissedHeartbeatIndex).toBe(0);
    expect(setStatus(machine, node, 'disconnected').LastMissedHeartbeatIndex).toBe(4);
    expect(setStatus(machine, node, 'down').LastMissedHeartbeatIndex).toBe(4);
    expect(setStatus(machine, node, 'initializing').LastMissedHeartbeatIndex).toBe(4);
    expect(setStatus(machine, node, 'ready').LastMissedHeartbeatIndex).toBe(0);
  });

  it('ST-46: events for one unknown node are refused for the whole batch', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const NodeEvents = { [node.ID]: [anEvent('a')], gone: [anEvent('b')] };
    expect(apply(machine, 'UpsertNodeEvents', { NodeEvents }).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'node not found',
    });
    expect(stored(machine, node)).toBe(node);
  });

  it('ST-26: node events move the table index, not the index of the node', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    apply(machine, 'UpsertNodeEvents', { NodeEvents: { [node.ID]: [anEvent('a')] } });
    expect(machine.tables.nodes.tableIndex).toBe(3);
    expect(stored(machine, node).ModifyIndex).toBe(2);
    const { job, evaluation } = fixtures.aRegisteredJob(machine);
    const alloc = fixtures.anAlloc({ Job: job, NodeID: node.ID });
    apply(machine, 'ApplyPlanResults', fixtures.aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const { index } = apply(machine, 'AllocClientUpdate', { Allocs: [fixtures.aClientUpdate(alloc)], Evals: [] });
    expect(machine.tables.nodes.tableIndex).toBe(index);
    expect(stored(machine, node)).toMatchObject({ LastAllocUpdateIndex: index, ModifyIndex: 2 });
  });

  it('ST-47 EV-7 ND-171: each change of a node is one transaction with one Node event', () => {
    const machine = aMachine();
    const node = aNode();
    const applied = [
      apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false }),
      apply(machine, 'NodeUpdateStatus', {
        NodeID: node.ID,
        Status: 'ready',
        UpdatedAt: 1,
        NodeEvent: null,
        IdentitySigningKeyID: '',
      }),
      apply(machine, 'NodeUpdateDrain', {
        NodeID: node.ID,
        DrainStrategy: DRAIN,
        MarkEligible: false,
        NodeEvent: anEvent('drain'),
        UpdatedAt: 1,
        Meta: {},
        UpdatedBy: '',
      }),
      apply(machine, 'NodeUpdateEligibility', {
        NodeID: node.ID,
        Eligibility: 'ineligible',
        NodeEvent: null,
        UpdatedAt: 1,
      }),
      apply(machine, 'UpsertNodeEvents', { NodeEvents: { [node.ID]: [anEvent('a')] } }),
    ];
    const frames = applied.map((one) => eventsOf(one)!.Events.map((event) => [event.Topic, event.Type]));
    expect(frames).toEqual([
      [['Node', 'NodeRegistration']],
      [['Node', 'NodeStreamEvent']],
      [['Node', 'NodeDrain']],
      [['Node', 'NodeEligibility']],
      [['Node', 'NodeStreamEvent']],
    ]);
  });
});

describe('drain and eligibility', () => {
  it('ST-41: a drain makes ineligible; its end makes eligible only when asked for', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    expect(drain(machine, node, DRAIN).SchedulingEligibility).toBe('ineligible');
    expect(drain(machine, node, null).SchedulingEligibility).toBe('ineligible');
    expect(drain(machine, node, null, { MarkEligible: true }).SchedulingEligibility).toBe('eligible');
  });

  it('ST-42: the last drain starts, and a change keeps its start and what is not given', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const given = { UpdatedAt: 1_800_000_000, Meta: { why: 'disk' }, UpdatedBy: 'alice' };
    expect(drain(machine, node, DRAIN, given).LastDrain).toEqual({
      StartedAt: '2027-01-15T08:00:00.000Z',
      UpdatedAt: '2027-01-15T08:00:00.000Z',
      Status: 'draining',
      AccessorID: 'alice',
      Meta: { why: 'disk' },
    });
    expect(drain(machine, node, { ...DRAIN, Deadline: 1 }, { UpdatedAt: 1_800_000_060 }).LastDrain).toEqual({
      StartedAt: '2027-01-15T08:00:00.000Z',
      UpdatedAt: '2027-01-15T08:01:00.000Z',
      Status: 'draining',
      AccessorID: 'alice',
      Meta: { why: 'disk' },
    });
    expect(drain(machine, node, DRAIN, { UpdatedBy: 'bob' }).LastDrain?.AccessorID).toBe('bob');
  });

  it('a second drain starts its own record', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    drain(machine, node, DRAIN, { Meta: { why: 'disk' }, UpdatedBy: 'alice' });
    drain(machine, node, null);
    expect(drain(machine, node, DRAIN, { UpdatedAt: 1_800_000_060 }).LastDrain).toMatchObject({
      StartedAt: '2027-01-15T08:01:00.000Z',
      AccessorID: '',
      Meta: null,
    });
  });

  it('API-203, ST-43 DR-15 DR-35: the drainer ends a drain as complete, keeping who asked and why; an operator as canceled', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    drain(machine, node, DRAIN, { Meta: { why: 'disk' }, UpdatedBy: 'alice' });
    expect(complete(machine, [node], 1_800_000_060).verdict.kind).toBe('accepted');
    expect(stored(machine, node)).toMatchObject({
      DrainStrategy: null,
      SchedulingEligibility: 'ineligible',
      StatusUpdatedAt: 1_800_000_060,
      LastDrain: {
        StartedAt: '2027-01-15T08:00:00.000Z',
        UpdatedAt: '2027-01-15T08:01:00.000Z',
        Status: 'complete',
        AccessorID: 'alice',
        Meta: { why: 'disk' },
      },
    });
    expect(stored(machine, node).Events.at(-1)!.Message).toBe('complete');
    drain(machine, node, DRAIN);
    expect(drain(machine, node, null, { UpdatedBy: 'bob' }).LastDrain).toMatchObject({
      Status: 'canceled',
      AccessorID: 'bob',
    });
  });

  it('API-624, EV-5 EV-7 DR-101: a batch of completions is one NodeDrain event per node', () => {
    const machine = aMachine();
    const nodes = [register(machine, aNode()), register(machine, aNode())];
    for (const node of nodes) drain(machine, node, DRAIN);
    const { Events } = eventsOf(complete(machine, nodes))!;
    expect(Events.map((event) => [event.Topic, event.Type, event.Key])).toEqual(
      nodes.map((node) => ['Node', 'NodeDrain', node.ID]),
    );
  });

  it('DR-75 DR-93 DR-99: a completion leaves out nodes that are gone, not draining, or drained anew', () => {
    const machine = aMachine();
    const [gone, canceled, anew] = [aNode(), register(machine, aNode()), register(machine, aNode())];
    for (const node of [canceled, anew]) drain(machine, node, DRAIN);
    drain(machine, canceled, null);
    drain(machine, anew, { ...DRAIN, StartedAt: '2027-01-15T08:00:09Z' });
    const before = [stored(machine, canceled), stored(machine, anew)];
    expect(complete(machine, [gone, canceled, anew]).verdict.kind).toBe('noop');
    expect([stored(machine, canceled), stored(machine, anew)]).toEqual(before);
  });

  it('ST-44: no strategy before and none after leaves the last drain alone', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    expect(drain(machine, node, null, { MarkEligible: true }).LastDrain).toBeNull();
    drain(machine, node, DRAIN);
    const ended = drain(machine, node, null);
    expect(ended.LastDrain?.Status).toBe('canceled');
    expect(drain(machine, node, null, { UpdatedAt: 1_900_000_000 }).LastDrain).toEqual(ended.LastDrain);
  });

  it('ST-45: a draining node cannot be made eligible', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    drain(machine, node, DRAIN);
    const Eligible = { NodeID: node.ID, Eligibility: 'eligible' as const, NodeEvent: null, UpdatedAt: 1 };
    expect(apply(machine, 'NodeUpdateEligibility', Eligible).verdict).toEqual({
      kind: 'refused',
      code: 'conflict',
      error: "can not set node's scheduling eligibility to eligible while it is draining",
    });
    drain(machine, node, null);
    expect(apply(machine, 'NodeUpdateEligibility', Eligible).verdict.kind).toBe('accepted');
    expect(stored(machine, node).SchedulingEligibility).toBe('eligible');
  });

  it('ST-48: drain and eligibility move time and index also when nothing differs, and refuse an unknown node', () => {
    const machine = aMachine();
    const node = register(machine, aNode());
    const same = {
      NodeID: node.ID,
      Eligibility: 'eligible' as const,
      NodeEvent: anEvent('x'),
      UpdatedAt: 1_800_000_005,
    };
    apply(machine, 'NodeUpdateEligibility', same);
    expect(stored(machine, node)).toMatchObject({ StatusUpdatedAt: 1_800_000_005, ModifyIndex: 3 });
    expect(stored(machine, node).Events).toHaveLength(2);
    expect(drain(machine, node, null, { UpdatedAt: 1_800_000_009 })).toMatchObject({
      StatusUpdatedAt: 1_800_000_009,
      ModifyIndex: 4,
    });
    const unknown = { kind: 'refused', code: 'not-found', error: 'node not found' };
    expect(apply(machine, 'NodeUpdateEligibility', { ...same, NodeID: 'gone' }).verdict).toEqual(unknown);
    const status = {
      NodeID: 'gone',
      Status: 'ready' as const,
      UpdatedAt: 1,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    };
    expect(apply(machine, 'NodeUpdateStatus', status).verdict).toEqual(unknown);
  });
});
