import type { Job, Node, Spread } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { schedule } from '../schedule.js';
import { placedBy, SchedulingFixture } from '../scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const on = (Attribute: string, targets: Record<string, number>): Spread => ({
  Attribute,
  Weight: 100,
  SpreadTarget: Object.entries(targets).map(([Value, Percent]) => ({ Value, Percent })),
});
const job = (Count: number, Spreads: Spread[], over: Partial<Job> = {}): Job =>
  fixtures.aJob({ Spreads, TaskGroups: [fixtures.aGroup({ Count })], ...over });

/** Allocations per value, most first. */
function placedPer(of: (nodeId: string) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { NodeID } of placedBy(world.run())) counts[of(NodeID)] = (counts[of(NodeID)] ?? 0) + 1;
  return counts;
}

describe('spreading the placements of one evaluation (22.4)', () => {
  it.each([
    ['an implicit rest', { dc1: 50 }],
    ['an explicit rest', { dc1: 50, '*': 50 }],
    ['all named', { dc1: 50, dc2: 25, dc3: 25 }],
  ])('SC-121, SC-130: half of twelve go to dc1, with %s', (_, targets) => {
    const datacenterOf = new Map<string, string>();
    for (const Datacenter of ['dc1', 'dc2', 'dc3'])
      for (let i = 0; i < 4; i++)
        datacenterOf.set(world.addNode({ Datacenter, ComputedClass: Datacenter }).ID, Datacenter);
    world.register(job(12, [on('${node.datacenter}', targets)]));
    const placed = placedPer((id) => datacenterOf.get(id)!);
    expect(placed['dc1']).toBe(6);
    if ('dc2' in targets) expect(placed).toEqual({ dc1: 6, dc2: 3, dc3: 3 });
  });

  it('SC-338, SC-344: 500 over 50 racks of a large cluster: even, and quickly', { timeout: 60_000 }, () => {
    const rackOf = new Map<string, string>();
    for (let i = 0; i < 2_000; i++) {
      const rack = `r${i % 50}`;
      rackOf.set(world.addNode({ ID: fixtures.uuid(10_000 + i), Meta: { rack }, ComputedClass: rack }).ID, rack);
    }
    world.register(job(500, [on('${meta.rack}', {})]));
    const counts = [...new Set(Object.values(placedPer((id) => rackOf.get(id)!)))];
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });

  it('what is remembered of nodes changes no choice: with a constraint that forbids remembering, the same plan', () => {
    for (let i = 0; i < 60; i++)
      world.addNode({
        ID: fixtures.uuid(20_000 + i),
        Meta: { rack: `r${i % 7}`, one: 'same' },
        ComputedClass: `c${i % 7}`,
        Datacenter: `dc${i % 3}`,
      });
    const Affinities = [{ LTarget: '${meta.rack}', RTarget: 'r3', Operand: '=', Weight: 30 }];
    const spreads = [on('${meta.rack}', {}), on('${node.datacenter}', { dc0: 60 })];
    const never = [{ LTarget: '${meta.one}', RTarget: '100000', Operand: 'distinct_property' }];
    const evaluation = fixtures.anEval();
    const choices = (Constraints: Job['Constraints']): unknown[] => {
      world.register(job(40, spreads, { Affinities, Constraints }));
      const attempt = schedule('service', {
        evaluation,
        tables: world.state.tables,
        index: 1,
        nowNs: fixtures.timeNs,
        newId: world.newId,
      });
      return placedBy(attempt).map(({ NodeID, Name, Metrics }) => [Name, NodeID, Metrics?.ScoreMetaData]);
    };
    const remembered = choices(null);
    expect(remembered).toHaveLength(40);
    expect(choices(never)).toEqual(remembered);
  });
});

describe('more than one spread', () => {
  const even = (Attribute: string): Spread => ({ Attribute, Weight: 50, SpreadTarget: null });

  it('SC-120: that of the job and that of the group both apply', () => {
    for (const [dc, rack] of [
      ['dc1', 'r1'],
      ['dc1', 'r2'],
      ['dc2', 'r1'],
      ['dc2', 'r2'],
    ] as const)
      world.addNode({ Datacenter: dc, Meta: { rack } });
    const group = fixtures.aGroup({ Count: 4, Spreads: [even('${meta.rack}')] });
    world.register(fixtures.aJob({ Spreads: [even('${node.datacenter}')], TaskGroups: [group] }));
    const nodes = new Map([...world.state.tables.nodes.all()].map((node) => [node.ID, node]));
    const placed = placedBy(world.run()).map(({ NodeID }) => nodes.get(NodeID)!);
    const counts = (of: (node: Node) => string | undefined) => placed.filter((node) => of(node)?.endsWith('1')).length;
    expect([counts((node) => node.Datacenter), counts((node) => node.Meta['rack'])]).toEqual([2, 2]);
  });

  it('SC-129: their sum is one number of the mean, also where it is far below -1', () => {
    for (const dc of ['dc1', 'dc2', 'dc2']) world.addNode({ Datacenter: dc });
    world.register(job(8, [on('${node.datacenter}', { dc1: 99, dc2: 1 })]));
    const scores = placedBy(world.run()).flatMap(({ Metrics }) => Metrics?.ScoreMetaData ?? []);
    const lowest = scores.reduce((a, b) =>
      (b.Scores['allocation-spread'] ?? 0) < (a.Scores['allocation-spread'] ?? 0) ? b : a,
    );
    const { binpack = 0, 'allocation-spread': spread = 0, 'job-anti-affinity': collisions = 0 } = lowest.Scores;
    expect(spread).toBeCloseTo((0.08 - 1) / 0.08, 6); // -11.5
    const contributed = [binpack, spread, collisions].filter((score) => score !== 0);
    expect(lowest.NormScore).toBeCloseTo(contributed.reduce((a, b) => a + b) / contributed.length, 6);
  });

  it('SC-131: the spread of a newer version does not touch what an older one replaces, nor the other way round', () => {
    const nodes = ['dc1', 'dc1', 'dc2', 'dc2'].map((Datacenter) => world.addNode({ Datacenter }));
    const version = (n: number, Spreads: Spread[] | null): Job => {
      const Update = { ...fixtures.aGroup().Update!, Canary: 1 };
      const Tasks = [fixtures.aTask({ Config: { version: n } })];
      return fixtures.aJob({ Spreads, TaskGroups: [fixtures.aGroup({ Count: 2, Update, Tasks })] });
    };
    world.register(version(0, null));
    world.settle();
    world.register(version(1, [even('${node.datacenter}')]));
    const canary = placedBy(world.run())[0];
    expect(canary?.Metrics?.ScoreMetaData?.some(({ Scores }) => Scores['allocation-spread'] !== 0)).toBe(true);
    const old = world.allocs().find((a) => a.Job?.Version === 0)!;
    world.nodeDown(nodes.find(({ ID }) => ID === old.NodeID)!);
    const replaced = placedBy(world.run({ TriggeredBy: 'node-update' })).filter((a) => a.Job?.Version === 0);
    expect(replaced.length).toBeGreaterThan(0);
    for (const { Metrics } of replaced)
      for (const { Scores } of Metrics?.ScoreMetaData ?? []) expect(Scores['allocation-spread']).toBe(0);
  });
});
