import { DEFAULT_NODE_IDENTITY_TTL_NS, type NodePoolSpecification, type RefusalCode } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { StateMachine } from '../machine/state-machine.js';

const { aJob, aMachine, aNode, aRegistration, apply } = fixtures;

const aPool = (over: Partial<NodePoolSpecification> = {}): NodePoolSpecification => ({
  Name: 'gpu',
  Description: 'with graphics',
  Meta: { owner: 'ml' },
  SchedulerConfiguration: null,
  NodeIdentityTTL: 3_600e9,
  ...over,
});

const upsert = (machine: StateMachine, ...NodePools: NodePoolSpecification[]) =>
  apply(machine, 'NodePoolUpsert', { NodePools });
const remove = (machine: StateMachine, ...Names: string[]) => apply(machine, 'NodePoolDelete', { Names });

describe('node pools', () => {
  it('ND-180 ND-188: two pools always exist, with the usual identity time', () => {
    const machine = new StateMachine();
    apply(machine, 'Initialise', {});
    expect([...machine.tables.node_pools.all()]).toMatchObject([
      { Name: 'all', Description: 'Node pool with all nodes in the cluster.', NodeIdentityTTL: 86_400e9 },
      { Name: 'default', Description: 'Default node pool.', NodeIdentityTTL: 86_400e9 },
    ]);
  });

  it('ND-188: a pool without identity time gets the usual one; one that names a time keeps it', () => {
    const machine = aMachine();
    upsert(machine, aPool({ Name: 'a', NodeIdentityTTL: 0 }), aPool({ Name: 'b' }));
    expect(machine.tables.node_pools.get('a')?.NodeIdentityTTL).toBe(DEFAULT_NODE_IDENTITY_TTL_NS);
    expect(machine.tables.node_pools.get('b')?.NodeIdentityTTL).toBe(3_600e9);
  });

  it('ST-23 ST-24: changing a pool keeps its CreateIndex; its hash says whether it says something else', () => {
    const machine = aMachine();
    upsert(machine, aPool());
    const first = machine.tables.node_pools.get('gpu')!;
    upsert(machine, aPool());
    const same = machine.tables.node_pools.get('gpu')!;
    upsert(machine, aPool({ Meta: { owner: 'web' } }));
    const other = machine.tables.node_pools.get('gpu')!;
    expect([first, same, other].map((p) => [p.CreateIndex, p.ModifyIndex])).toEqual([
      [2, 2],
      [2, 3],
      [2, 4],
    ]);
    expect(same.Hash).toBe(first.Hash);
    expect(other.Hash).not.toBe(first.Hash);
  });

  it('ND-184: built-in pools are neither changed nor deleted, and nothing of the transaction stays', () => {
    const machine = aMachine();
    for (const Name of ['all', 'default']) {
      expect(upsert(machine, aPool(), aPool({ Name })).verdict).toEqual({
        kind: 'refused',
        code: 'invalid',
        error: `modifying node pool "${Name}" is not allowed`,
      });
      expect(remove(machine, Name).verdict).toEqual({
        kind: 'refused',
        code: 'invalid',
        error: `deleting node pool "${Name}" is not allowed`,
      });
    }
    expect([...machine.tables.node_pools.all()].map((pool) => pool.Name)).toEqual(['all', 'default']);
  });

  it('ND-186: what keeps a pool is named once, however many jobs there are', () => {
    const machine = aMachine();
    upsert(machine, aPool());
    for (const ID of ['a', 'b'])
      apply(machine, 'JobRegister', aRegistration(aJob({ ID, NodePool: 'gpu' })), { namespace: 'default' });
    expect(remove(machine, 'gpu').verdict).toMatchObject({
      error: '1 error occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n\n',
    });
  });

  it('ND-186: a pool is deleted once it has neither nodes nor jobs that are not dead', () => {
    const machine = aMachine();
    upsert(machine, aPool(), aPool({ Name: 'spare' }));
    const node = aNode({ NodePool: 'gpu' });
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    apply(machine, 'JobRegister', aRegistration(aJob({ ID: 'train', NodePool: 'gpu' })), { namespace: 'default' });
    const refused = (code: RefusalCode, error: string) => ({ kind: 'refused', code, error });
    expect(remove(machine, 'spare', 'gpu').verdict).toEqual(
      refused(
        'conflict',
        '2 errors occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]' +
          '\n\t* node pool "gpu" has nodes in regions: [global]\n\n',
      ),
    );
    apply(machine, 'NodeDeregister', { NodeID: node.ID });
    expect(remove(machine, 'spare', 'gpu').verdict).toEqual(
      refused('conflict', '1 error occurred:\n\t* node pool "gpu" has non-terminal jobs in regions: [global]\n\n'),
    );
    expect(machine.tables.node_pools.has('spare')).toBe(true);
    apply(
      machine,
      'JobDeregister',
      { JobID: 'train', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
    expect(remove(machine, 'spare', 'gpu').verdict.kind).toBe('accepted');
    expect(remove(machine, 'gpu').verdict).toEqual(refused('not-found', 'node pool gpu not found'));
  });

  it('API-405, API-406 API-409: pools appear on the event stream, deleted ones as they were', () => {
    const machine = aMachine();
    const made = eventsOf(upsert(machine, aPool()));
    expect(made?.Events).toMatchObject([
      {
        Topic: 'NodePool',
        Type: 'NodePoolUpserted',
        Key: 'gpu',
        Payload: { NodePool: { Description: 'with graphics' } },
      },
    ]);
    const gone = eventsOf(remove(machine, 'gpu'));
    expect(gone?.Events).toMatchObject([
      {
        Topic: 'NodePool',
        Type: 'NodePoolDeleted',
        Key: 'gpu',
        Payload: { NodePool: { Description: 'with graphics' } },
      },
    ]);
  });
});
