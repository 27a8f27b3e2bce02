import type { NodeScoreMeta } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { failedGroupTitle, placementBullets, scoreLines } from './placement-metrics.js';
import { planAnnotationTable } from './plan-annotations.js';

describe('placement metrics', () => {
  it('CL-221: one bullet per cause, in order, maps sorted', () => {
    const metrics = {
      NodesEvaluated: 3,
      NodesAvailable: { dc2: 0, dc1: 3 },
      ClassFiltered: { small: 1 },
      ConstraintFiltered: { 'missing drivers': 2, '${attr.cpu.arch} = arm': 1 },
      NodesExhausted: 1,
      ClassExhausted: { big: 1 },
      DimensionExhausted: { memory: 1, cpu: 1 },
      QuotaExhausted: ['cpu'],
    };
    expect(placementBullets(metrics, (text) => `!${text}`)).toEqual([
      '* No nodes are available in datacenter "dc2"',
      '* Class "small": 1 nodes excluded by filter',
      '* Constraint "${attr.cpu.arch} = arm": 1 nodes excluded by filter',
      '!* Constraint "missing drivers": 2 nodes excluded by filter',
      '* Resources exhausted on 1 nodes',
      '* Class "big" exhausted on 1 nodes',
      '* Dimension "cpu" exhausted on 1 nodes',
      '* Dimension "memory" exhausted on 1 nodes',
      '* Quota limit hit "cpu"',
    ]);
    expect(placementBullets({})).toEqual(['* No nodes were eligible for evaluation']);
  });

  it('CL-205: the number of allocations that failed, plural above one', () => {
    expect(failedGroupTitle('web', {})).toBe('Task Group "web" (failed to place 1 allocation):');
    expect(failedGroupTitle('web', { CoalescedFailures: 2 })).toBe('Task Group "web" (failed to place 3 allocations):');
  });

  it('CL-625: columns beyond the first six only where they say something', () => {
    const updates = { foo: { Place: 1, Ignore: 2, Canary: 1 }, bar: { Place: 1, Stop: 3, Reconnect: 2 } };
    const rows = planAnnotationTable(updates, false).split('\n');
    expect(rows[0]).toBe('Task Group  Ignore  Place  Stop  InPlace  Destructive  Canary  Reconnect');
    expect(rows.slice(1).map((row) => row.split(/ +/).join(' '))).toEqual(['bar 0 1 3 0 0 0 2', 'foo 2 1 0 0 0 1 0']);
    expect(planAnnotationTable(updates, true).split('\n')[0]).toContain('Reschedule Later');
  });

  it('CL-222: a row per node, the names of all scores sorted, what a node has not is 0', () => {
    const ScoreMetaData: NodeScoreMeta[] = [
      { NodeID: 'node-1', Scores: { b: 2, a: 1 }, NormScore: 1 },
      { NodeID: 'node-2', Scores: { c: 0.123456 }, NormScore: -0.5 },
    ];
    const rows = scoreLines({ ScoreMetaData, Scores: { 'n.binpack': 1 } }).map((row) => row.split(/ {2,}/));
    expect(rows).toEqual([
      ['Node', 'a', 'b', 'c', 'final score'],
      ['node-1', '1', '2', '0', '1'],
      ['node-2', '0', '0', '0.123', '-0.5'],
    ]);
    expect(scoreLines({ Scores: { 'n.binpack': 1 / 3 } })).toEqual(['* Score "n.binpack" = 0.333333']);
    expect(scoreLines({})).toEqual([]);
  });
});
