import type { Allocation, AllocMetric, Job, Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it, vi } from 'vitest';
import { JudgedCandidates } from './judged-candidates.js';
import { allocOn, jobAsking, JudgingFixture } from './judging.fixture.js';
import type { Fitting, Judgement } from './node-judge.js';
import { PlacementMetric, type Rejections } from './placement-metric.js';

const DISTINCT = [{ LTarget: '${node.unique.name}', RTarget: '9', Operand: 'distinct_property' }];
const big = jobAsking(3_000, 3_000);
const low = jobAsking(3_000, 3_000, { ID: 'low', Priority: 10 });

/** Candidates of a job, and the number of times that a node was judged. */
function judging(job: Job, nodes: Node[], stored: Allocation[] = []) {
  const { plan, tables, feasibility, ranking, ask, deps } = new JudgingFixture(job, nodes, stored);
  const judged = new JudgedCandidates(nodes, ask, ranking, deps);
  judged.refresh();
  const looked = vi.spyOn(feasibility, 'whyNot');
  /** Places one more allocation of the job on a node. */
  const place = (at: number): Allocation => {
    const alloc = allocOn(nodes[at]!, job, { ClientStatus: 'pending' });
    plan.place(alloc);
    judged.refresh();
    return alloc;
  };
  const stop = (alloc: Allocation): void => {
    plan.stop({ alloc, description: '' });
    judged.refresh();
  };
  return { plan, nodes, tables, ranking, judged, place, stop, times: () => looked.mock.calls.length };
}

const fits = (judgement: Judgement): Fitting => {
  if (judgement.kind !== 'fits') throw new Error(`it does not fit: ${judgement.reason}`);
  return judgement;
};
const metricOf = (rejections: Rejections | undefined): AllocMetric | undefined => {
  if (!rejections) return undefined;
  const metric = new PlacementMetric({ nodes: [], perDatacenter: {} }, '');
  metric.allRejected(rejections);
  return metric.finish();
};

describe('the judgement of a candidate', () => {
  it('is made once, and again after the plan has changed its node', () => {
    const { judged, place, times } = judging(big, [fixtures.aNode(), fixtures.aNode()]);
    const first = fits(judged.at(0));
    expect([judged.at(0), judged.at(1).kind, times()]).toEqual([first, 'fits', 2]);
    place(0);
    expect(judged.at(0)).toEqual({ kind: 'exhausted', reason: 'cpu' });
    expect([judged.at(0).kind, judged.at(1).kind, times()]).toEqual(['exhausted', 'fits', 3]);
  });

  it('is no matter of nodes that are no candidates, or were not judged yet', () => {
    const nodes = [fixtures.aNode(), fixtures.aNode()];
    const { judged, plan, place, times } = judging(big, nodes);
    fits(judged.at(0));
    plan.place(allocOn(fixtures.aNode(), big));
    place(1);
    expect([judged.at(0).kind, judged.at(1).kind, times()]).toEqual(['fits', 'exhausted', 2]);
    expect(judged.noneFits()).toBeUndefined();
  });

  it('SC-62: is made at every query if feasibility depends on other nodes', () => {
    const { judged, times } = judging({ ...big, Constraints: DISTINCT }, [fixtures.aNode()]);
    judged.at(0);
    expect([judged.at(0).kind, times(), judged.knownScore(0)]).toEqual(['fits', 2, undefined]);
  });

  it('SC-53: a later query gets the class as the reason of a filtered node, and the reason of an exhausted one', () => {
    const never = [{ LTarget: '${node.class}', RTarget: 'x', Operand: '=' }];
    const filtered = judging({ ...big, Constraints: never }, [fixtures.aNode()]).judged;
    expect([filtered.at(0), filtered.at(0)]).toEqual([
      { kind: 'filtered', reason: '${node.class} = x' },
      { kind: 'filtered', reason: 'computed class ineligible' },
    ]);
    const hosts = judging({ ...big, Constraints: [{ LTarget: '', RTarget: '', Operand: 'distinct_hosts' }] }, [
      fixtures.aNode(),
    ]);
    hosts.place(0);
    const reason = { kind: 'filtered', reason: 'distinct_hosts' };
    expect([hosts.judged.at(0), hosts.judged.at(0)]).toEqual([reason, reason]);
  });
});

describe('the known score of a candidate', () => {
  it('is the mean of its contributions, until the plan changes its node', () => {
    const { judged, place } = judging(jobAsking(1_000, 1_000), [fixtures.aNode(), fixtures.aNode()]);
    expect(judged.knownScore(0)).toBeUndefined();
    const first = judged.scoreOf(0, fits(judged.at(0)), false);
    expect([judged.knownScore(0), judged.knownScore(1)]).toEqual([first, undefined]);
    place(0);
    expect(judged.knownScore(0)).toBeUndefined();
    const second = fits(judged.at(0));
    expect(judged.knownScore(0)).toBe(judged.scoreOf(0, second, false));
    // A collision of four lowers it by the anti-affinity: the mean of two contributions.
    expect(judged.knownScore(0)).toBeCloseTo((second.base.binpack - 2 / 4) / 2, 12);
    expect(judged.scoreOf(0, second, true)).toBeCloseTo((second.base.binpack - 2 / 4 - 1) / 3, 12);
    expect(judged.scoresOf(0, second, true)).toMatchObject({ 'job-anti-affinity': -0.5, 'allocation-spread': 0 });
  });

  it('is unknown for a candidate that does not fit', () => {
    const { judged } = judging(jobAsking(5_000, 1), [fixtures.aNode()]);
    judged.at(0);
    expect(judged.knownScore(0)).toBeUndefined();
  });

  const spreading = (targets: Record<string, number>) => {
    const SpreadTarget = Object.entries(targets).map(([Value, Percent]) => ({ Value, Percent }));
    const Spreads = [{ Attribute: '${node.datacenter}', Weight: 100, SpreadTarget }];
    const nodes = ['dc1', 'dc1', 'dc2'].map((Datacenter) => fixtures.aNode({ Datacenter }));
    const world = judging(jobAsking(100, 100, { Spreads }), nodes);
    const scored = vi.spyOn(world.ranking, 'spreadOf');
    const classed = vi.spyOn(world.ranking, 'spreadClassOf');
    const { judged } = world;
    /** The spread in the known score of each candidate. */
    const spreads = () =>
      nodes.map((_, at) => {
        const { base } = fits(judged.at(at));
        const { sum, contributing } = world.ranking.sumOf(base);
        const score = judged.knownScore(at)!;
        expect(judged.scoreOf(at, fits(judged.at(at)), false)).toBe(score);
        const spread = judged.scoresOf(at, fits(judged.at(at)), false)['allocation-spread']!;
        expect(score).toBeCloseTo(spread === 0 ? sum / contributing : (sum + spread) / (contributing + 1), 12);
        return spread;
      });
    return { ...world, spreads, scored: () => scored.mock.calls.length, classed: () => classed.mock.calls.length };
  };

  it('SC-122: has the spread score, computed once for each class of nodes and placement', () => {
    const { spreads, place, scored, classed } = spreading({ dc1: 50, dc2: 50 });
    expect([spreads(), scored()]).toEqual([[0.5, 0.5, 0.5], 2]);
    place(0);
    expect([spreads(), scored()]).toEqual([[0, 0, 0.5], 4]);
    expect([spreads(), scored(), classed()]).toEqual([[0, 0, 0.5], 4, 3]);
  });

  it('SC-126: an even spread follows the counts of the plan', () => {
    const { spreads, place, ranking, judged } = spreading({});
    expect(spreads()).toEqual([0, 0, 0]);
    const refreshed = vi.spyOn(ranking, 'refresh');
    place(2);
    expect(spreads()).toEqual([1, 1, -1]);
    place(0);
    expect(spreads()).toEqual([-1, -1, -1]);
    judged.refresh();
    expect(refreshed).toHaveBeenCalledTimes(3);
  });

  it('SC-124: is computed at every query where it depends on their order', () => {
    const { spreads, scored } = spreading({ dc1: 100, dc2: 0 });
    expect([spreads().at(-1), scored()]).toEqual([-1, 9]);
  });
});

describe('candidates of which none fits', () => {
  const full = (...jobs: Job[]): [Node[], Allocation[]] => {
    const nodes = [fixtures.aNode(), fixtures.aNode()];
    return [nodes, jobs.map((job, at) => allocOn(nodes[at]!, job))];
  };

  it('is not known before all were judged', () => {
    const { judged, times } = judging(big, ...full(low, low));
    expect(judged.noneFits()).toBeUndefined();
    judged.at(0);
    expect([judged.noneFits(), times()]).toEqual([undefined, 1]);
    judged.at(1);
    expect(metricOf(judged.noneFits())).toMatchObject({ NodesExhausted: 2, DimensionExhausted: { cpu: 2 } });
    expect(times()).toBe(2);
  });

  it('is not known while one fits', () => {
    const { judged } = judging(big, ...full(low));
    for (const at of [0, 1]) judged.at(at);
    expect(judged.noneFits()).toBeUndefined();
  });

  it('is not known while one was not judged, and the changed ones are not looked at for that', () => {
    const [nodes, stored] = full(low, low);
    const { judged, stop, times } = judging(big, [...nodes, fixtures.aNode()], stored);
    for (const at of [0, 1]) judged.at(at);
    stop(stored[0]!);
    expect([judged.noneFits(), times()]).toEqual([undefined, 2]);
  });

  it('is found again by a look at the changed ones only', () => {
    const { judged, stop, place, tables, times } = judging(big, ...full(low, low));
    for (const at of [0, 1]) judged.at(at);
    const [stored] = [...tables.allocs.all()];
    stop(stored!);
    expect([judged.noneFits(), times()]).toEqual([undefined, 3]);
    place(0);
    expect(judged.at(0).kind).toBe('exhausted');
    expect(metricOf(judged.noneFits())).toMatchObject({ NodesExhausted: 2, DimensionExhausted: { cpu: 2 } });
    expect(times()).toBe(4);
  });

  it('a changed node that still does not fit counts once', () => {
    const { judged, plan, nodes, times } = judging(big, ...full(low, low));
    for (const at of [0, 1]) judged.at(at);
    plan.place(allocOn(nodes[1]!, jobAsking(1, 1, { ID: 'small' })));
    for (let i = 0; i < 2; i++) {
      judged.refresh();
      expect(metricOf(judged.noneFits())).toMatchObject({ NodesExhausted: 2, DimensionExhausted: { cpu: 2 } });
    }
    expect(times()).toBe(3);
  });
});

describe('a candidate that fits after evictions', () => {
  it('SC-132, SC-133: is the one whose allocations are of a lower priority', () => {
    const nodes = [fixtures.aNode(), fixtures.aNode()];
    const victim = allocOn(nodes[0]!, low);
    const peer = allocOn(nodes[1]!, { ...low, ID: 'peer', Priority: 50 });
    const { judged, times } = judging(big, nodes, [victim, peer]);
    expect(judged.preemptingAt(0)?.victims).toEqual([victim]);
    expect([judged.preemptingAt(1), judged.preemptingAt(1)]).toEqual([undefined, undefined]);
    expect(times()).toBe(2);
  });

  it('is searched again after the plan has changed a hopeless node', () => {
    const nodes = [fixtures.aNode()];
    const { judged, plan, times } = judging(big, nodes, [allocOn(nodes[0]!, { ...big, ID: 'peer' })]);
    judged.at(0);
    expect([judged.preemptingAt(0), times()]).toEqual([undefined, 2]);
    for (const alloc of plan.allocsOn(nodes[0]!.ID)) plan.stop({ alloc, description: '' });
    const second = allocOn(nodes[0]!, low);
    plan.place(second);
    judged.refresh();
    expect(judged.preemptingAt(0)?.victims).toEqual([second]);
  });

  it('SC-62: is searched at every query if feasibility depends on other nodes', () => {
    const nodes = [fixtures.aNode()];
    const { judged, times } = judging({ ...big, Constraints: DISTINCT }, nodes, [
      allocOn(nodes[0]!, { ...big, ID: 'peer' }),
    ]);
    expect([judged.preemptingAt(0), judged.preemptingAt(0), times()]).toEqual([undefined, undefined, 2]);
  });
});
