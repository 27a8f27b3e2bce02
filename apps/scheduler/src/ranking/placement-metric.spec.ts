import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { BestFew, PlacementMetric, Rejections, scoreMeta, withExhaustedResources } from './placement-metric.js';

const nodeOf = (NodeClass: string) => fixtures.aNode({ NodeClass });
const metricOf = (nodes = 3) =>
  new PlacementMetric({ nodes: Array.from({ length: nodes }, () => nodeOf('')), perDatacenter: { dc1: nodes } }, 'gpu');
const unsuited = { kind: 'filtered', reason: 'missing drivers' } as const;
const full = { kind: 'exhausted', reason: 'memory' } as const;

describe('why nodes are unsuitable', () => {
  it('SC-49: by reason, and by the class of the operator; nodes without a class only by reason', () => {
    const metric = metricOf();
    for (const node of [nodeOf('large'), nodeOf('large'), nodeOf('')]) metric.rejected(node, unsuited);
    for (const node of [nodeOf('small'), nodeOf('')]) metric.rejected(node, full);
    metric.rejected(nodeOf('large'), { kind: 'exhausted', reason: 'cpu' });
    expect(metric.finish()).toEqual({
      ...metricOf().finish(),
      NodesFiltered: 3,
      ConstraintFiltered: { 'missing drivers': 3 },
      ClassFiltered: { large: 2 },
      NodesExhausted: 3,
      DimensionExhausted: { memory: 2, cpu: 1 },
      ClassExhausted: { small: 1, large: 1 },
    });
  });

  it('a node that is judged anew does not count any more, and a count of none is left out', () => {
    const rejections = new Rejections();
    const node = nodeOf('large');
    for (const by of [1, 1, -1] as const) rejections.count(node, unsuited, by);
    for (const by of [1, -1] as const) rejections.count(node, full, by);
    const metric = metricOf();
    metric.allRejected(rejections);
    expect(metric.finish()).toMatchObject({
      NodesEvaluated: 3,
      NodesFiltered: 1,
      ConstraintFiltered: { 'missing drivers': 1 },
      ClassFiltered: { large: 1 },
      NodesExhausted: 0,
      DimensionExhausted: null,
      ClassExhausted: null,
    });
  });

  it('without rejections and scores there are only the candidates', () => {
    const metric = metricOf();
    metric.evaluated();
    metric.evaluated(2);
    metric.keepScores([]);
    expect(metric.finish()).toEqual({
      NodesEvaluated: 3,
      NodesFiltered: 0,
      NodesInPool: 3,
      NodePool: 'gpu',
      NodesAvailable: { dc1: 3 },
      ClassFiltered: null,
      ConstraintFiltered: null,
      NodesExhausted: 0,
      ClassExhausted: null,
      DimensionExhausted: null,
      QuotaExhausted: null,
      ResourcesExhausted: null,
      Scores: null,
      ScoreMetaData: null,
      AllocationTime: 0,
      CoalescedFailures: 0,
    });
  });

  it('the scores of a node carry its ID and their mean', () => {
    const node = nodeOf('');
    const meta = scoreMeta(node, { binpack: 0.5 }, 0.25);
    expect(meta).toEqual({ NodeID: node.ID, Scores: { binpack: 0.5 }, NormScore: 0.25 });
    const metric = metricOf();
    metric.keepScores([meta]);
    expect(metric.finish().ScoreMetaData).toEqual([meta]);
  });
});

describe('the best few of many scores (SC-113)', () => {
  const kept = (...scores: number[]): string => {
    const best = new BestFew();
    for (const [option, score] of scores.entries()) best.offer(option, score);
    return best.map((option, score) => `${option}:${score}`).join(' ');
  };

  it.each([
    ['all of a few, best first', [1, 3, 2], '1:3 2:2 0:1'],
    ['none of none', [], ''],
    ['five', [1, 2, 3, 4, 5], '4:5 3:4 2:3 1:2 0:1'],
    ['the best five', [1, 2, 3, 4, 5, 6, 0], '5:6 4:5 3:4 2:3 1:2'],
    ['the first of equals', [2, 1, 2, 1, 2, 1, 2, 1], '0:2 2:2 4:2 6:2 1:1'],
  ])('%s', (_, scores, expected) => {
    expect(kept(...scores)).toBe(expected);
  });
});

describe('the resources that were asked for while their dimension was exhausted (SC-28, SC-30)', () => {
  const task = (Name: string, CPU: number, MemoryMB: number) => {
    const given = fixtures.aTask({ Name });
    return { ...given, Resources: { ...given.Resources, CPU, MemoryMB, DiskMB: 7 } };
  };
  const group = fixtures.aGroup({ Tasks: [task('a', 100, 10), task('b', 200, 20)] });
  const exhausted = (DimensionExhausted: Record<string, number> | null, times = 1) => {
    let metric = { ...metricOf().finish(), DimensionExhausted };
    for (let i = 0; i < times; i++) metric = { ...withExhaustedResources(metric, group), DimensionExhausted };
    const found = metric.ResourcesExhausted;
    return found && Object.entries(found).map(([name, { CPU, MemoryMB, DiskMB }]) => [name, CPU, MemoryMB, DiskMB]);
  };

  it.each([
    ['nothing', null, null],
    [
      'cpu',
      { cpu: 1 },
      [
        ['a', 100, 0, 0],
        ['b', 200, 0, 0],
      ],
    ],
    [
      'memory',
      { memory: 2 },
      [
        ['a', 0, 10, 0],
        ['b', 0, 20, 0],
      ],
    ],
    [
      'both',
      { cpu: 1, memory: 1 },
      [
        ['a', 100, 10, 0],
        ['b', 200, 20, 0],
      ],
    ],
    [
      'cores',
      { cores: 1 },
      [
        ['a', 0, 0, 0],
        ['b', 0, 0, 0],
      ],
    ],
  ])('%s', (_, dimensions, expected) => {
    expect(exhausted(dimensions)).toEqual(expected);
  });

  it('are nothing else', () => {
    const metric = withExhaustedResources({ ...metricOf().finish(), DimensionExhausted: { cpu: 1 } }, group);
    expect(metric.ResourcesExhausted?.['a']).toEqual({
      CPU: 100,
      Cores: 0,
      MemoryMB: 0,
      MemoryMaxMB: 0,
      DiskMB: 0,
      IOPS: 0,
      Networks: null,
      Devices: null,
      NUMA: null,
      SecretsMB: 0,
    });
  });

  it('those of several placements add up', () => {
    expect(exhausted({ cpu: 1 }, 3)).toEqual([
      ['a', 300, 0, 0],
      ['b', 600, 0, 0],
    ]);
  });
});
