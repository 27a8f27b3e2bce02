import { eventsOf, fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS } from './collecting.fixture.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

describe('collecting nodes', () => {
  it.each([
    ['down', true],
    ['disconnected', false],
    ['initializing', false],
    ['ready', false],
  ] as const)('GC-56 GC-104 ND-145: one that is %s for long goes: %s', async (Status, goes) => {
    world.node({ Status });
    await world.run('node-gc');
    expect(world.tables.nodes.size).toBe(goes ? 0 : 1);
  });

  it.each([
    [24 * HOUR_MS, 0],
    [24 * HOUR_MS - 1000, 1],
  ])('GC-56, ST-166: after a day (%s ms: %s left), by seconds', async (age, left) => {
    world.node({ StatusUpdatedAt: Math.floor((world.time.nowMs() - age) / 1000) });
    await world.run('node-gc');
    expect(world.tables.nodes.size).toBe(left);
  });

  it.each([
    ['running', 'run', false],
    ['unknown', 'run', false],
    ['pending', 'run', false],
    ['lost', 'stop', true],
    ['complete', 'run', true],
  ] as const)(
    'GC-56 GC-57 ND-147: with an allocation that is %s and to %s it goes: %s',
    async (ClientStatus, DesiredStatus, goes) => {
      const { ID: NodeID } = world.node();
      world.alloc({ ID: 'eval', JobID: 'web' }, { NodeID, ClientStatus, DesiredStatus });
      await world.run('node-gc');
      expect(world.left()).toEqual(goes ? { allocs: 1 } : { allocs: 1, nodes: 1 });
    },
  );

  it('GC-60: one that is purged meanwhile loses the others nothing', async () => {
    const gone = world.node();
    world.node();
    world.before = () => void fixtures.apply(world.state, 'NodeDeregister', { NodeID: gone.ID });
    await world.run('node-gc');
    expect(world.left()).toEqual({});
    expect(world.applied[0]!.verdict).toEqual({ kind: 'accepted' });
  });

  it('race 4: one that comes back between the look and the deletion lives, and its allocations are untouched', async () => {
    const node = world.node();
    const alloc = world.alloc({ ID: 'eval', JobID: 'web' }, { NodeID: node.ID });
    world.before = () =>
      void fixtures.apply(world.state, 'NodeUpdateStatus', {
        NodeID: node.ID,
        Status: 'ready',
        UpdatedAt: world.time.nowMs() / 1000,
        NodeEvent: null,
        IdentitySigningKeyID: '',
      });
    await world.run('node-gc');
    expect(world.tables.nodes.get(node.ID)!.Status).toBe('ready');
    expect(world.tables.allocs.get(alloc.ID)).toBe(alloc);
  });

  it('GC-61: one whose agent comes back is new, with its old id', async () => {
    const node = world.node();
    await world.run('node-gc');
    fixtures.apply(world.state, 'NodeRegister', { Node: node, CreateNodePool: false });
    expect(world.tables.nodes.get(node.ID)).toMatchObject({ CreateIndex: world.state.appliedIndex });
  });

  it('GC-124: one event for each', async () => {
    const ids = [world.node().ID, world.node().ID];
    await world.run('node-gc');
    const said = eventsOf(world.applied[0]!)!.Events.map(({ Type, Key }) => [Type, Key]);
    expect(said).toEqual(ids.map((id) => ['NodeDeregistration', id]));
  });
});
