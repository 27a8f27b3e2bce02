import type { Amounts, Node, Spread, TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it, vi } from 'vitest';
import { asks, likes } from '../device.fixture.js';
import { candidateLimit, LimitedChoice, spreadLimit } from './candidate-limit.js';
import { fitScore, MAX_FIT_SCORE } from './fit-score.js';
import { Ranking, scoresBy } from './ranking.js';
import { SpreadScore } from './spread.js';

const amounts = (cpuMhz: number, memoryMB: number): Amounts => ({ cpuMhz, memoryMB, diskMB: 0 });
const none = (): ReadonlyMap<string, number> => new Map();

describe('fit scores', () => {
  it.each([
    [0, 0, 0, 18],
    [500, 256, 3.272052, 14.727948],
    [1950, 3968, 13.675445, 4.324555],
    [2925, 1984, 12.598307, 5.401693],
    [1000, 7936, 13.45898, 4.54102],
    [3900, 0, 9, 9],
    [3900, 7936, 18, 0],
    [4900, 7936, 18, 0],
  ])('SC-107: %d MHz and %d MB used score %f binpacking and %f spreading', (cpu, memory, binpack, spread) => {
    const capacity = amounts(3900, 7936);
    expect(fitScore('binpack', amounts(cpu, memory), capacity)).toBeCloseTo(binpack, 5);
    expect(fitScore('spread', amounts(cpu, memory), capacity)).toBeCloseTo(spread, 5);
  });
});

describe('the final score', () => {
  const group = (over: Partial<TaskGroup>): TaskGroup => fixtures.aGroup(over);
  const half = { used: amounts(512, 512), capacity: amounts(1024, 1024) };
  const rank = (g: TaskGroup, collisions: number, penalised = false, node = fixtures.aNode()): number =>
    new Ranking(fixtures.aJob(), g, 'binpack', none).score({
      node,
      ...half,
      collisions,
      matchedDeviceWeight: 0,
      penalised,
    }).normScore;

  it('is the mean of what contributes: one collision of ten', () => {
    expect(rank(group({ Count: 10 }), 1)).toBeCloseTo(0.279873, 5);
  });

  it('SC-110: a node where it failed before counts -1', () => {
    expect(rank(group({ Count: 10 }), 0, true)).toBeCloseTo((0.759747 - 1) / 2, 5);
  });

  it('an affinity that matches nothing still contributes its 0', () => {
    const Affinities = [{ LTarget: '${meta.x}', RTarget: 'y', Operand: '=', Weight: 50 }];
    expect(rank(group({ Count: 4, Affinities }), 0)).toBeCloseTo(0.759747 / 2, 5);
  });

  it('SC-111: affinities are weighed against the sum of all weights', () => {
    const on = (attribute: string, value: string, Weight: number) => ({
      LTarget: attribute,
      RTarget: value,
      Operand: '=',
      Weight,
    });
    const Affinities = [
      on('${node.datacenter}', 'dc1', 100),
      on('${node.datacenter}', 'dc2', -100),
      { LTarget: '${attr.kernel}', RTarget: '4.0', Operand: '>', Weight: 50 },
      on('${node.class}', 'large', 50),
    ];
    const affinity = (over: Partial<Node>): number | undefined =>
      new Ranking(fixtures.aJob(), group({ Affinities }), 'binpack', none).score({
        node: fixtures.aNode({ Attributes: {}, ...over }),
        ...half,
        collisions: 0,
        matchedDeviceWeight: 0,
        penalised: false,
      }).scores['node-affinity'];
    expect(affinity({ Attributes: { kernel: '4.9' } })).toBeCloseTo(0.5, 6);
    expect(affinity({ Datacenter: 'dc2' })).toBeCloseTo(-1 / 3, 6);
    expect(affinity({ Datacenter: 'dc2', NodeClass: 'large' })).toBeCloseTo(-1 / 6, 6);
    expect(affinity({})).toBeCloseTo(1 / 3, 6);
    expect(affinity({ Datacenter: 'dc3' })).toBe(0);
  });

  it('the fit alone is divided by its highest value', () => {
    expect(rank(group({ Count: 1 }), 0)).toBeCloseTo(13.675445 / MAX_FIT_SCORE, 5);
  });
});

describe('the mean of a score', () => {
  const ranking = (over: Partial<TaskGroup> = {}) =>
    new Ranking(fixtures.aJob(), fixtures.aGroup({ Count: 10, ...over }), 'binpack', none);
  const base = { binpack: 0.6, antiAffinity: 0, affinity: 0, devices: null };

  it.each<[string, number, Parameters<Ranking['mean']>]>([
    ['the fit alone', 0.6, [base, false, 0]],
    ['a spread', 0.5, [base, false, 0.4]],
    ['a penalty', -0.2, [base, true, 0]],
    ['a preemption', 0.8, [base, false, 0, 1]],
    ['a preemption that scores 0', 0.3, [base, false, 0, 0]],
    ['devices that match nothing', 0.3, [{ ...base, devices: 0 }, false, 0]],
    ['devices', 0.8, [{ ...base, devices: 1 }, false, 0]],
    ['collisions', 0.2, [{ ...base, antiAffinity: -0.2 }, false, 0]],
    ['all of them', 0.3, [{ ...base, devices: 1, antiAffinity: -0.2 }, true, 0.4, 1]],
  ])('is that of what contributes: %s', (_what, mean, args) => {
    expect(ranking().mean(...args)).toBeCloseTo(mean, 10);
  });

  it('SC-111: is that of affinities too, if there are any', () => {
    const Affinities = [likes('${node.class}', 'large', 50)];
    expect(ranking({ Affinities }).mean({ ...base, affinity: 0.4 }, false, 0)).toBeCloseTo(0.5, 10);
    expect(ranking().mean({ ...base, affinity: 0.4 }, false, 0)).toBeCloseTo(0.6, 10);
  });

  it('collisions count with one more, for each of the wanted allocations', () => {
    const node = fixtures.aNode();
    const antiAffinity = (collisions: number) =>
      ranking().base({ node, used: amounts(1, 1), capacity: amounts(2, 2), collisions, matchedDeviceWeight: 0 })
        .antiAffinity;
    expect([0, 1, 4].map(antiAffinity)).toEqual([0, -0.2, -0.5]);
  });

  it.each([
    ['no affinity', [asks()], null],
    ['one that is met', [asks({ Affinities: [likes('${device.model}', 'A100', 30)] })], 1],
    ['one of the lowest weight', [asks({ Affinities: [likes('${device.model}', 'A100', 1)] })], 30],
    [
      'those of all requests together, by their absolute weights',
      [
        asks({ Affinities: [likes('${device.model}', 'A100', 50), likes('${device.model}', 'V100', -25)] }),
        asks(),
        asks({ Affinities: [likes('${device.model}', 'x', 25)] }),
      ],
      0.3,
    ],
  ])('SC-93: device affinities count by the share of their weights that is met: %s', (_, Devices, expected) => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, Devices } }];
    const ranked = { used: amounts(1, 1), capacity: amounts(2, 2), collisions: 0, matchedDeviceWeight: 30 };
    expect(ranking({ Tasks }).base({ node: fixtures.aNode(), ...ranked }).devices).toBe(expected);
  });

  it('a node without capacity is full', () => {
    expect(fitScore('binpack', amounts(1, 1), amounts(0, 0))).toBe(18);
    expect(fitScore('binpack', amounts(0, 0), amounts(1, 1))).toBe(0);
    expect(fitScore('binpack', amounts(0, 50), amounts(0, 100))).toBeCloseTo(20 - 1 - 10 ** 0.5, 9);
  });
});

describe('candidate limit', () => {
  it.each([
    [0, 2],
    [1, 2],
    [4, 2],
    [5, 3],
    [8, 3],
    [16, 4],
    [32, 5],
    [100, 7],
    [1_000, 10],
    [5_000, 13],
    [10_000, 14],
  ])('SC-115: of %d candidates a service compares %d, a batch job 2', (candidates, limit) => {
    expect(candidateLimit('service', candidates)).toBe(limit);
    expect(candidateLimit('batch', candidates)).toBe(2);
  });

  it('SC-113: the scores of a node name what was against it and what was for it', () => {
    const base = { binpack: 0.5, antiAffinity: -0.25, affinity: 0.1, devices: null };
    const named = { binpack: 0.5, 'job-anti-affinity': -0.25, 'node-affinity': 0.1, 'allocation-spread': 0.2 };
    expect(scoresBy(base, true, 0.2)).toEqual({ ...named, 'node-reschedule-penalty': -1 });
    expect(scoresBy(base, false, 0.2)).toEqual({ ...named, 'node-reschedule-penalty': 0 });
    expect(scoresBy({ ...base, devices: 0.7 }, false, 0.2)).toMatchObject({ devices: 0.7 });
  });

  it('SC-116: with affinities or spreads it is 100, the count, or what is configured', () => {
    expect([spreadLimit(10, 0), spreadLimit(500, 0), spreadLimit(10, 20)]).toEqual([100, 500, 20]);
  });

  it.each([
    [
      [-1, 2, 3],
      [2, 3],
    ],
    [
      [-1, -2, 3, 4],
      [3, 4],
    ],
    [
      [-1, -6, -3, -4],
      [-3, -4],
    ],
    [
      [-1, -6],
      [-1, -6],
    ],
    [
      [-1, 5],
      [5, -1],
    ],
    [
      [-1, 5, -2, 2],
      [5, 2],
    ],
  ])('SC-117: scores %j with limit 2 and 2 set aside are offered as %j', (arriving, offered) => {
    const taken: number[] = [];
    class Recorded extends LimitedChoice {
      protected override accept(option: number, score: number): void {
        taken.push(score);
        super.accept(option, score);
      }
    }
    const choice = new Recorded(2, 2);
    arriving.some((score, option) => choice.offer(option, score));
    const best = choice.finish();
    expect(taken).toEqual(offered);
    expect(arriving[best]).toBe(Math.max(...offered));
  });
});

it('SC-117: three are set aside, and the fourth counts; of equals the first wins (SC-112)', () => {
  const choice = new LimitedChoice(2);
  expect([-1, -2, -3, -4].map((score, option) => choice.offer(option, score))).toEqual([false, false, false, false]);
  expect(choice.offer(4, -4)).toBe(true);
  expect(choice.finish()).toBe(3);
  const zero = new LimitedChoice(2);
  expect([0, 5].map((score, option) => zero.offer(option, score))).toEqual([false, false]);
  expect(zero.finish()).toBe(1);
  expect(new LimitedChoice(2).finish()).toBe(-1);
});

describe('spread', () => {
  const on = (Attribute: string, Weight: number, targets: Record<string, number>): Spread => ({
    Attribute,
    Weight,
    SpreadTarget: Object.entries(targets).map(([Value, Percent]) => ({ Value, Percent })),
  });
  const DC = '${node.datacenter}';
  const RACK = '${meta.rack}';
  const score = (
    spreads: Spread[],
    Count: number,
    used: Record<string, Record<string, number>>,
    ...at: [dc: string, rack?: string][]
  ): number[] => {
    const spread = new SpreadScore(
      { Spreads: spreads },
      { Spreads: null, Count },
      (attribute) => new Map(Object.entries(used[attribute] ?? {})),
    );
    return at.map(([dc, rack]) => spread.of(fixtures.aNode({ Datacenter: dc, Meta: rack ? { rack } : {} })));
  };

  it.each([
    [{ dc1: 2 }, 0.625, 0.5],
    [{ dc1: 7 }, 0, 0.5],
    [{ dc1: 8, dc2: 2 }, -0.125, -0.5],
  ])('SC-121, SC-122: 80 %% of 10 in dc1, used %j', (used, dc1, dc2) => {
    const [first, second] = score([on(DC, 100, { dc1: 80 })], 10, { [DC]: used }, ['dc1'], ['dc2']);
    expect(first).toBeCloseTo(dc1, 6);
    expect(second).toBeCloseTo(dc2, 6);
  });

  it('SC-121: the rest is for all other values, however small it is', () => {
    expect(score([on(DC, 100, { dc1: 50 })], 2, {}, ['dc1'], ['dc2'])).toEqual([0, 0]);
    expect(score([on(DC, 100, { dc1: 100 })], 2, {}, ['dc2'])).toEqual([-1]);
  });

  it('SC-122, SC-128: two spreads count by their share of the weights', () => {
    const spreads = [on(DC, 100, { dc1: 60, dc2: 40 }), on(RACK, 50, { r1: 40, r2: 60 })];
    const used = { [DC]: { dc1: 2 }, [RACK]: { r1: 1, r2: 1 } };
    const scores = score(spreads, 10, used, ['dc1', 'r1'], ['dc2', 'r1'], ['dc1', 'r2']);
    expect(scores.map((s) => Number(s.toFixed(3)))).toEqual([0.5, 0.667, 0.556]);
  });

  it('SC-123, SC-124: a target of 0, and values that are no target', () => {
    const zero = on(DC, 50, { dc1: 50, dc2: 50, '*': 0 });
    expect(score([zero], 8, {}, ['dc1'], ['dc2'], ['dc3'])).toEqual([0.75, 0.75, -1]);
    const tiny = on(DC, 50, { dc1: 99, dc2: 1, '*': 0 });
    const scores = score([tiny], 8, {}, ['dc3'], ['dc1'], ['dc2'], ['dc3']);
    expect(scores.map((s) => Number(s.toFixed(6)))).toEqual([-1, 0.873737, -11.5, -11.5]);
    expect(score([on(DC, 50, { dc1: 80, dc2: 20 })], 5, {}, ['dc3'])).toEqual([-1]);
  });

  it('nodes of one class of values score alike, unless a target wants none', () => {
    const classOf = (spreads: Spread[] | null, over: Partial<Node>) =>
      new SpreadScore({ Spreads: spreads }, { Spreads: null, Count: 10 }, none).classOf(fixtures.aNode(over));
    const spreads = [on(DC, 50, { dc1: 50 }), on(RACK, 50, {})];
    const node = { Datacenter: 'dc1', Meta: { rack: 'r1' } };
    expect(classOf(null, node)).toBe('');
    expect(classOf(spreads, node)).toBe(classOf(spreads, { ...node, Name: 'other' }));
    expect(classOf(spreads, node)).not.toBe(classOf(spreads, { ...node, Meta: { rack: 'r2' } }));
    expect(classOf(spreads, node)).not.toBe(classOf(spreads, { ...node, Meta: {} }));
    expect(classOf([on(RACK, 50, {}), on(DC, 50, { dc1: 100, dc2: 0 })], node)).toBeUndefined();
  });

  it('without weights no target counts; an even spread does', () => {
    expect(score([on(DC, 0, { dc1: 100 })], 5, {}, ['dc1'])).toEqual([0]);
    expect(score([on(DC, 1, { dc1: 100 })], 5, {}, ['dc1'])).toEqual([0.8]);
    expect(score([on(DC, 0, {})], 5, { [DC]: { dc1: 1 } }, ['dc2'])).toEqual([1]);
  });

  it('the counts of a placement are read anew', () => {
    const used = new Map([
      ['dc1', 1],
      ['dc2', 2],
    ]);
    const uses = vi.fn(() => used);
    const spread = new SpreadScore({ Spreads: [on(DC, 50, {})] }, { Spreads: null, Count: 5 }, uses);
    const scores = () => ['dc1', 'dc2'].map((Datacenter) => spread.of(fixtures.aNode({ Datacenter })));
    expect(scores()).toEqual([1, -1]);
    used.set('dc1', 4);
    spread.refresh();
    expect(scores()).toEqual([-1, 1]);
    // The smallest and the largest count are looked up once for each placement.
    expect(uses).toHaveBeenCalledTimes(2 + 1 + 2 + 1);
  });

  it('SC-125: a node without the property', () => {
    expect(score([on(RACK, 50, { r1: 100 })], 5, {}, ['dc1'])).toEqual([-1]);
    expect(score([on(RACK, 50, {})], 5, {}, ['dc1'])).toEqual([-1]);
    expect(score([on(RACK, 50, {})], 5, { [RACK]: { r1: 1 } }, ['dc1'])).toEqual([-1]);
  });

  it.each([
    [{}, { dc1: 0, dc2: 0 }],
    [{ dc1: 2 }, { dc1: -1, dc2: 1 }],
    [
      { dc1: 2, dc2: 1 },
      { dc1: -1, dc2: 1 },
    ],
    [
      { dc1: 2, dc2: 3 },
      { dc1: 0.5, dc2: -0.5 },
    ],
    [
      { dc1: 3, dc2: 3 },
      { dc1: -1, dc2: -1, dc3: 1 },
    ],
    [
      { dc1: 5, dc2: 2, dc3: 4 },
      { dc1: -1.5, dc2: 1.5, dc3: -1, dc4: 1 },
    ],
    [
      { dc1: 1, dc2: 0, dc3: 0 },
      { dc1: -1, dc2: 1 },
    ],
  ])('SC-126, SC-127: evenly over %j scores %j', (used, expected) => {
    for (const [dc, value] of Object.entries(expected))
      expect(score([on(DC, 50, {})], 10, { [DC]: used }, [dc])[0]).toBeCloseTo(value, 6);
  });
});
