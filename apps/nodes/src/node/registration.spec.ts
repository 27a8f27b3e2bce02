import { nodesWriter } from './nodes-writer.js';
import { FakeTime, type Node } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { DEFAULT_PACE } from '../heartbeats/heartbeat-ttl.js';
import { NodeEvaluations } from './node-evaluations.js';
import { Registration, type RegistrationDependencies } from './registration.js';

const draft = <T extends TxnType>(type: T, payload: TxnPayloads[T]) =>
  draftTxn(type, payload, { timeNs: fixtures.timeNs, requestId: fixtures.freshId(), actor: serviceActor('test') });

function setup(over: Partial<RegistrationDependencies> = {}) {
  const time = new FakeTime(1_800_000_000_500);
  const state = new LocalState(fixtures.aMachine());
  let ids = 0;
  const writer = nodesWriter(state, { clock: time, newId: () => `request-${ids++}`, region: 'global' });
  const registration = new Registration({
    state,
    writer,
    evaluations: new NodeEvaluations(state, writer),
    clock: time,
    random: () => 0,
    pace: DEFAULT_PACE,
    ...over,
  });
  const register = (node: Node) => registration.register({ Node: node });
  const stored = (node: Node): Node => state.tables.nodes.get(node.ID)!;
  return { time, state, registration, register, stored };
}

/** As an agent sends itself. */
const described = (over: Partial<Node> = {}): Node =>
  fixtures.aNode({ Status: 'initializing', ComputedClass: 'what the agent says', StatusUpdatedAt: 1, ...over });

describe('registration', () => {
  it('ND-26: input is checked in order, each failure with its text', async () => {
    const { register, state } = setup();
    const before = state.appliedIndex;
    const cases: [Partial<Node>, string][] = [
      [{ ID: '', Datacenter: '' }, 'missing node ID for client registration'],
      [{ Datacenter: '', Name: '' }, 'missing datacenter for client registration'],
      [{ Name: '', Attributes: {} }, 'missing node name for client registration'],
      [{ Attributes: undefined as never }, 'missing attributes for client registration'],
      [{ Attributes: {}, SecretID: '' }, 'missing attributes for client registration'],
      [{ SecretID: '', NodePool: 'a b' }, 'missing node secret ID for client registration'],
      [{ NodePool: 'a b' }, 'invalid node pool: invalid name "a b", must match regex ^[a-zA-Z0-9-_]{1,128}$'],
      [{ NodePool: 'all' }, 'node is not allowed to register in node pool "all"'],
      [{ HostVolumes: undefined as never }, 'invalid Node.HostVolumes: '],
      [{ Name: 'x'.repeat(256) }, 'node name must be at most 255 bytes'],
    ];
    for (const [over, text] of cases) await expect(register(described(over))).rejects.toThrow(text);
    await expect(register(null as unknown as Node)).rejects.toThrow('missing node for client registration');
    expect(state.appliedIndex).toBe(before);
  });

  it('AU-281, ND-30: a machine without the right to register as this node is reported, and no other failure', async () => {
    const refused: string[] = [];
    const { register } = setup({ forbidden: ({ ID }, { message }) => refused.push(`${ID}: ${message}`) });
    const node = described();
    await register(node);
    await expect(register({ ...node, Name: '' })).rejects.toThrow('missing node name');
    expect(refused).toEqual([]);
    await expect(register({ ...node, SecretID: 'stolen' })).rejects.toThrow('node secret ID does not match');
    expect(refused).toEqual([`${node.ID}: node secret ID does not match. Not registering node.`]);
  });

  it('ND-223: one that is written late does not come behind what the machine has said since', async () => {
    const { registration, stored, state } = setup();
    const node = described();
    const { NodeModifyIndex } = await registration.register({ Node: node, After: 0 });
    const late = { Node: { ...node, Meta: { disks: 'none' } }, After: NodeModifyIndex };
    const next = await registration.register({ Node: { ...node, Meta: { disks: 'two' } }, After: NodeModifyIndex });
    const before = state.appliedIndex;
    expect(await registration.register(late)).toMatchObject({
      IsOvertaken: true,
      Index: 0,
      NodeModifyIndex: next.NodeModifyIndex,
    });
    expect([state.appliedIndex, stored(node).Meta]).toEqual([before, { disks: 'two' }]);
    expect(await registration.register({ ...late, After: next.NodeModifyIndex })).not.toHaveProperty('IsOvertaken');
    expect(stored(node).Meta).toEqual({ disks: 'none' });
  });

  it('ND-27: missing values have defaults, an unknown status is refused', async () => {
    const { register, stored } = setup();
    const empty = '' as Node['Status'] & Node['SchedulingEligibility'];
    const node = described({ Status: empty, SchedulingEligibility: empty, NodePool: '' });
    await register(node);
    expect(stored(node)).toMatchObject({
      Status: 'initializing',
      SchedulingEligibility: 'eligible',
      NodePool: 'default',
    });
    await expect(register(described({ Status: 'odd' as Node['Status'] }))).rejects.toThrow('invalid status for node');
  });

  it('ND-28, ND-29: a new node gets the time, its class, one event and the index of its transaction', async () => {
    const { register, stored, state } = setup();
    const node = described();
    const answer = await register(node);
    expect(stored(node)).toMatchObject({
      StatusUpdatedAt: 1_800_000_000,
      CreateIndex: answer.Index,
      ModifyIndex: answer.Index,
    });
    expect(stored(node).ComputedClass).toMatch(/^v1:\d+$/);
    expect(stored(node).Events.map((e) => e.Message)).toEqual(['Node registered']);
    expect(answer.Index).toBe(state.appliedIndex);
  });

  it('ND-30, ND-211: another secret for a known id is refused and writes nothing', async () => {
    const { register, stored, state } = setup();
    const node = described();
    await register(node);
    const before = stored(node);
    await expect(register({ ...node, SecretID: 'stolen' })).rejects.toThrow(
      'node secret ID does not match. Not registering node.',
    );
    expect(stored(node)).toBe(before);
    expect(state.history).toHaveLength(1);
  });

  it('ND-30: a node that was stored without a secret gets that of its registration', async () => {
    const { register, stored, state } = setup();
    const node = described({ Attributes: { 'kernel.name': 'linux' } });
    await register(node);
    state.tables.nodes.replace(node.ID, { ...stored(node), SecretID: '' });
    await register(node);
    expect(stored(node).SecretID).toBe(node.SecretID);
  });

  it('ND-36: a node that is purged right after its registration is answered as it was written', async () => {
    const { register, state } = setup();
    const node = described({ Status: 'ready' });
    state.onApplied(() => state.tables.nodes.replace(node.ID, undefined));
    const answer = await register({ ...node, SchedulingEligibility: '' as Node['SchedulingEligibility'] });
    expect(answer).toMatchObject({ Status: 'ready', SchedulingEligibility: 'eligible', Index: state.appliedIndex });
  });

  it('ND-31: a registration never changes the status of a known node, whoever wrote it in between', async () => {
    const { register, stored, state } = setup();
    const node = described();
    await register(node);
    const down = { NodeID: node.ID, Status: 'down', UpdatedAt: 5, NodeEvent: null, IdentitySigningKeyID: '' } as const;
    await state.propose(draft('NodeUpdateStatus', down));
    await register({ ...node, Status: 'ready', Name: 'renamed' });
    expect(stored(node)).toMatchObject({ Status: 'down', Name: 'renamed' });
  });

  it('ND-31: a conflict is read and tried again', async () => {
    const { register, stored, state } = setup();
    const node = described();
    await register(node);
    const events = {
      NodeID: node.ID,
      UpdatedAt: 5,
      NodeEvent: null,
      DrainStrategy: null,
      MarkEligible: false,
      Meta: {},
      UpdatedBy: '',
    };
    const same = state.tables.nodes.get(node.ID)!;
    await state.propose(draft('NodeUpdateDrain', events));
    // As if the row were older than the subject: what a refused or void write of the same node leaves behind.
    state.tables.nodes.replace(node.ID, { ...stored(node), ModifyIndex: same.ModifyIndex });
    await register({ ...node, Name: 'renamed' });
    expect(stored(node).Name).toBe('renamed');
  });

  it('ND-32, ND-33: eligibility, events and drain of the stored node stay, the rest is replaced', async () => {
    const { register, stored, state } = setup();
    const node = described({ Attributes: { 'kernel.name': 'linux', gone: '1' } });
    await register(node);
    await state.propose(
      draft('NodeUpdateEligibility', { NodeID: node.ID, Eligibility: 'ineligible', NodeEvent: null, UpdatedAt: 9 }),
    );
    await register({ ...node, Attributes: { 'kernel.name': 'linux' } });
    expect(stored(node)).toMatchObject({ SchedulingEligibility: 'ineligible', Attributes: { 'kernel.name': 'linux' } });
    expect(stored(node).Attributes).not.toHaveProperty('gone');
    expect(stored(node).CreateIndex).toBeLessThan(stored(node).ModifyIndex);
  });

  it('ND-34: a re-registration adds no event', async () => {
    const { register, stored } = setup();
    const node = described();
    await register(node);
    await register(node);
    expect(stored(node).Events).toHaveLength(1);
  });

  it('ND-35: an unknown pool is made with the node, in the same transaction', async () => {
    const { register, stored, state } = setup();
    const node = described({ NodePool: 'gpu' });
    await register(node);
    expect(state.tables.node_pools.get('gpu')?.CreateIndex).toBe(stored(node).ModifyIndex);
  });

  it('ND-36: the answer carries indexes, number of nodes, eligibility and a TTL unless the node is down', async () => {
    const { register } = setup();
    const answer = await register(described());
    expect(answer).toMatchObject({ NodeModifyIndex: answer.Index, NumNodes: 1, SchedulingEligibility: 'eligible' });
    expect(answer.HeartbeatTTL).toBe(10e9);
    expect((await register(described({ Status: 'down' }))).HeartbeatTTL).toBe(0);
  });

  it('ND-37: what of a re-registration creates evaluations, and what does not', async () => {
    const { register, state } = setup();
    const system = fixtures.aJob({ ID: 'sys', Type: 'system', Datacenters: ['*'], NodePool: 'all' });
    fixtures.aRegisteredJob(state.machine, system);
    const node = described();
    expect((await register(node)).EvalIDs).toHaveLength(0);
    expect((await register(described({ Status: 'ready' }))).EvalIDs).toHaveLength(1);
    expect((await register(described({ Status: 'down' }))).EvalIDs).toHaveLength(1);
    const resources = { ...node.NodeResources, Memory: { MemoryMB: 1 } };
    expect((await register({ ...node, Links: { a: 'b' }, NodeResources: resources })).EvalIDs).toHaveLength(0);
    const changes: Partial<Node>[] = [
      { Datacenter: 'dc2' },
      { Name: 'other' },
      { NodeClass: 'big' },
      { Attributes: { ...node.Attributes, x: '1' } },
      { Meta: { x: '1' } },
      { Drivers: {} },
      { HostVolumes: { v: { Name: 'v', Path: '/v', ReadOnly: false, ID: '' } } },
      { NodePool: 'default2' },
    ];
    for (const change of changes) {
      const fresh = described();
      await register(fresh);
      expect((await register({ ...fresh, ...change })).EvalIDs, JSON.stringify(change)).toHaveLength(1);
    }
  });

  it('ND-213: an attribute that flaps creates evaluations at every flap', async () => {
    const { register, state } = setup();
    fixtures.aRegisteredJob(
      state.machine,
      fixtures.aJob({ ID: 'sys', Type: 'system', Datacenters: ['*'], NodePool: 'all' }),
    );
    const node = described();
    await register(node);
    for (const flapping of ['1', '2', '1', '2'])
      expect(
        (await register({ ...node, Attributes: { ...node.Attributes, flapping } })).EvalIDs,
        flapping,
      ).toHaveLength(1);
  });

  it('ND-204: the same description again, with newer driver reports, creates no evaluation', async () => {
    const { register, state } = setup();
    fixtures.aRegisteredJob(
      state.machine,
      fixtures.aJob({ ID: 'sys', Type: 'system', Datacenters: ['*'], NodePool: 'all' }),
    );
    const node = described();
    await register(node);
    const drivers = Object.fromEntries(
      Object.entries(node.Drivers).map(([name, d]) => [name, { ...d, UpdateTime: '2027-01-01T00:00:00Z' }]),
    );
    expect((await register({ ...node, Drivers: drivers })).EvalIDs).toHaveLength(0);
  });

  it('ND-212: the same name with another id is another node', async () => {
    const { register, state } = setup();
    await register(described({ Name: 'twin' }));
    await register(described({ Name: 'twin' }));
    expect(state.tables.nodes.size).toBe(2);
  });
});
