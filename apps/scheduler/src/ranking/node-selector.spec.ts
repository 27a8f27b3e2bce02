import {
  defaultSchedulerConfiguration,
  type Allocation,
  type Job,
  type Node,
  type SchedulerConfiguration,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allocOn, jobAsking, JudgingFixture } from './judging.fixture.js';
import { JudgedCandidates } from './judged-candidates.js';
import { NodeSelector, type SelectOptions, type Selection } from './node-selector.js';

afterEach(() => void vi.restoreAllMocks());

const small = (over: Partial<Job> = {}, group: Partial<Job['TaskGroups'][number]> = {}): Job => {
  const job = jobAsking(100, 100, over);
  return { ...job, TaskGroups: [{ ...job.TaskGroups[0]!, ...group }] };
};
const nodesOf = (count: number, over: (at: number) => Partial<Node> = () => ({})): Node[] =>
  Array.from({ length: count }, (_, at) => fixtures.aNode({ Name: `n${at}`, ...over(at) }));

/** Selections among the nodes, in their order. */
function selecting(job: Job, nodes: Node[], stored: Allocation[] = [], config: Partial<SchedulerConfiguration> = {}) {
  const { deps, uses, ask, plan } = new JudgingFixture(job, nodes, stored);
  const selector = new NodeSelector({
    ...deps,
    job,
    candidates: { nodes, perDatacenter: { dc1: nodes.length } },
    config: { ...defaultSchedulerConfiguration(), ...config },
    uses,
  });
  const nameOf = (id: string | undefined): string => nodes.find(({ ID }) => ID === id)?.Name ?? '';
  const select = (options: SelectOptions = {}): Selection => selector.select(ask.group, options);
  return {
    select,
    place: (node: Node): void => plan.place(allocOn(node, job, { ClientStatus: 'pending' })),
    /** Name of the chosen node, those of the scored ones by score, and how many were looked at. */
    chosen: (options: SelectOptions = {}): [string, string, number] => {
      const { node, metric } = select(options);
      const scored = (metric.ScoreMetaData ?? []).map(({ NodeID }) => nameOf(NodeID));
      return [node?.Name ?? '', scored.join(' '), metric.NodesEvaluated];
    },
  };
}

const AFFINITY = [{ LTarget: '${node.unique.name}', RTarget: 'n4', Operand: '=', Weight: 50 }];
const SPREAD = [{ Attribute: '${node.datacenter}', Weight: 50, SpreadTarget: null }];

describe('the candidates that are looked at', () => {
  it('SC-43, SC-115: of five a service compares three, and goes on where it stopped, around the ring', () => {
    const { chosen } = selecting(small(), nodesOf(5));
    expect([chosen(), chosen(), chosen()]).toEqual([
      ['n0', 'n0 n1 n2', 3],
      ['n3', 'n3 n4 n0', 3],
      ['n1', 'n1 n2 n3', 3],
    ]);
  });

  it('SC-115: a batch job compares two', () => {
    expect(selecting(small({ Type: 'batch' }), nodesOf(5)).chosen()).toEqual(['n0', 'n0 n1', 2]);
  });

  it.each([
    ['affinities of the job', small({ Affinities: AFFINITY }), 4, ['n0', 4]],
    ['affinities of the group', small({}, { Affinities: AFFINITY }), 4, ['n0', 4]],
    ['the whole ring', small({ Affinities: AFFINITY }), 20, ['n4', 6]],
    ['the default limit', small({ Affinities: AFFINITY }), 0, ['n4', 6]],
    ['spreads of the job', small({ Spreads: SPREAD }), 5, ['n0', 5]],
    ['spreads of the group', small({}, { Spreads: SPREAD }), 5, ['n0', 5]],
    ['the count, if it is higher', small({ Affinities: AFFINITY }), 3, ['n0', 4]],
  ])('SC-116: with %s', (_, job, NodeLimitForFeasibilityChecks, [name, looked] = []) => {
    const [found, , evaluated] = selecting(job, nodesOf(6), [], { NodeLimitForFeasibilityChecks }).chosen();
    expect([found, evaluated]).toEqual([name, looked]);
  });

  it('SC-49, SC-118: those that do not suit count only as rejected', () => {
    const nodes = nodesOf(5, (at) => (at < 2 ? { NodeClass: 'x', NodeMaxAllocs: 1 } : {}));
    const { select } = selecting(
      small(),
      nodes,
      nodes.slice(0, 2).map((node) => allocOn(node, jobAsking(1, 1, { ID: 'other' }))),
    );
    const { node, metric } = select();
    expect(node?.Name).toBe('n2');
    expect(metric).toMatchObject({
      NodesEvaluated: 5,
      NodesExhausted: 2,
      ClassExhausted: { x: 2 },
      DimensionExhausted: { 'max allocation exceeded': 2 },
      NodesInPool: 5,
      NodesAvailable: { dc1: 5 },
    });
    expect(metric.ScoreMetaData).toHaveLength(3);
  });

  it('SC-112: the best of them is chosen, with the resources that it has there', () => {
    const nodes = nodesOf(3);
    const { select } = selecting(small(), nodes, [allocOn(nodes[1]!, jobAsking(2_000, 2_000, { ID: 'other' }))]);
    const { node, metric, ...chosen } = select();
    expect(node?.Name).toBe('n1');
    expect(chosen).toMatchObject({ resources: { Tasks: { web: { Memory: { MemoryMB: 100 } } } }, victims: [] });
    expect(metric.ScoreMetaData?.map(({ NormScore, Scores }) => NormScore === Scores['binpack'])).toEqual([true, true]);
  });

  it('SC-107: the emptiest is chosen if the algorithm spreads', () => {
    const nodes = nodesOf(2);
    const stored = [allocOn(nodes[0]!, jobAsking(2_000, 2_000, { ID: 'other' }))];
    const by = (SchedulerAlgorithm: SchedulerConfiguration['SchedulerAlgorithm']): string =>
      selecting(small(), nodes, stored, { SchedulerAlgorithm }).chosen()[0];
    expect([by('binpack'), by('spread')]).toEqual(['n0', 'n1']);
  });

  it('SC-105: the limit of memory is that of the configuration', () => {
    const job = small();
    const task = job.TaskGroups[0]!.Tasks[0]!;
    const Tasks = [{ ...task, Resources: { ...task.Resources, MemoryMaxMB: 500 } }];
    const limit = (MemoryOversubscriptionEnabled: boolean) => {
      const selection = selecting(small({}, { Tasks }), nodesOf(1), [], { MemoryOversubscriptionEnabled }).select();
      return selection.node && selection.resources.Tasks['web']?.Memory.MemoryMaxMB;
    };
    expect([limit(false), limit(true)]).toEqual([0, 500]);
  });

  it('what is known of a candidate is used until the plan changes it', () => {
    const looked = vi.spyOn(JudgedCandidates.prototype, 'at');
    const nodes = nodesOf(2);
    const { chosen, place } = selecting(small(), nodes);
    expect(chosen()).toEqual(['n0', 'n0 n1', 2]);
    looked.mockClear();
    expect(chosen()).toEqual(['n0', 'n0 n1', 2]);
    // For the scores of two, and the resources of the chosen one.
    expect(looked).toHaveBeenCalledTimes(3);
    place(nodes[0]!);
    expect(chosen()).toEqual(['n1', 'n1 n0', 2]);
  });
});

describe('a selection that finds nothing', () => {
  it('SC-49: has the reasons of all candidates, also the second time, without another look', () => {
    const { select } = selecting(
      jobAsking(9_999, 1),
      nodesOf(3, () => ({ NodeClass: 'x' })),
    );
    const metric = { NodesEvaluated: 3, NodesExhausted: 3, NodesFiltered: 0, DimensionExhausted: { cpu: 3 } };
    expect(select()).toMatchObject({ metric });
    const looked = vi.spyOn(JudgedCandidates.prototype, 'at');
    const again = select();
    expect(again).toMatchObject({ metric: { ...metric, ClassExhausted: { x: 3 }, ScoreMetaData: null } });
    expect([again.node, looked.mock.calls.length]).toEqual([undefined, 0]);
  });

  it('has no reasons if there are no candidates', () => {
    expect(selecting(small(), []).select()).toMatchObject({ node: undefined, metric: { NodesEvaluated: 0 } });
  });
});

describe('nodes where it failed before (SC-110)', () => {
  it.each([
    ['the first selection', 0],
    ['a later one', 1],
  ])('count -1: %s', (_, before) => {
    const nodes = nodesOf(2);
    const { chosen, select } = selecting(small(), nodes);
    for (let i = 0; i < before; i++) chosen();
    const { node, metric } = select({ penalised: new Set([nodes[0]!.ID]) });
    expect(node?.Name).toBe('n1');
    expect(metric.ScoreMetaData?.map(({ Scores }) => Scores['node-reschedule-penalty'])).toEqual([0, -1]);
    const [other, penalised] = metric.ScoreMetaData ?? [];
    expect(penalised?.NormScore).toBeCloseTo((other!.NormScore - 1) / 2, 12);
    expect(chosen()[0]).toBe('n0');
  });
});

describe('one node alone (SC-44, SC-119)', () => {
  it('is looked at, and no other one', () => {
    const nodes = nodesOf(3);
    const { chosen } = selecting(small(), nodes);
    expect(chosen({ only: nodes[2]! })).toEqual(['n2', 'n2', 1]);
    expect(chosen()).toEqual(['n0', 'n0 n1', 2]);
  });

  it('is not chosen if it does not suit', () => {
    const nodes = nodesOf(2);
    const found = selecting(jobAsking(9_999, 1), nodes).select({ only: nodes[1]! });
    expect([found.node, found.metric.NodesEvaluated, found.metric.DimensionExhausted]).toEqual([
      undefined,
      1,
      { cpu: 1 },
    ]);
  });

  it('SC-110, SC-130: is scored with its penalty, and with the spread of the plan so far', () => {
    const nodes = nodesOf(2, (at) => ({ Datacenter: `dc${at}` }));
    const { select, place } = selecting(small({ Spreads: SPREAD }), nodes);
    const scores = (options: SelectOptions = {}) => {
      const [meta] = select({ only: nodes[0]!, ...options }).metric.ScoreMetaData ?? [];
      return [meta?.Scores['allocation-spread'], meta?.Scores['node-reschedule-penalty']];
    };
    expect(scores()).toEqual([0, 0]);
    for (let i = 0; i < 2; i++) {
      place(nodes[1]!);
      expect(scores()).toEqual([1, 0]);
    }
    place(nodes[0]!);
    expect(scores({ penalised: new Set([nodes[0]!.ID]) })).toEqual([1, -1]);
  });
});

it('SC-124: a value of which none are wanted has the lowest score so far, from one selection to the next', () => {
  const SpreadTarget = [
    { Value: 'dc0', Percent: 100 },
    { Value: 'dc1', Percent: 0 },
  ];
  const nodes = nodesOf(2, (at) => ({ Datacenter: `dc${at}` }));
  const { select, place } = selecting(small({ Spreads: [{ ...SPREAD[0]!, SpreadTarget }] }), nodes);
  const scoreOn = (at: number): number | undefined =>
    select({ only: nodes[at]! }).metric.ScoreMetaData?.[0]?.Scores['allocation-spread'];
  expect(scoreOn(1)).toBe(-1);
  for (let i = 0; i < 8; i++) place(nodes[0]!);
  expect([scoreOn(0), scoreOn(1)]).toEqual([-1.25, -1.25]);
});

describe('evictions (SC-132)', () => {
  const big = jobAsking(3_000, 100, { Priority: 50 });
  const full = (nodes: Node[], priorities: number[]): Allocation[] =>
    priorities.map((Priority, at) =>
      allocOn(nodes[at]!, jobAsking(3_000, 100, { ID: `of-${Priority}`, Priority }), { ID: `v${at}` }),
    );
  const victims = (selection: Selection): string[] =>
    selection.node ? selection.victims.map(({ ID }) => ID) : ['nowhere'];

  it('are tried only if they are allowed, and only if no node fits without', () => {
    const nodes = nodesOf(2);
    const { select } = selecting(big, nodes, full(nodes, [10, 20]));
    expect([victims(select()), victims(select({ preempt: true }))]).toEqual([['nowhere'], ['v0']]);
    const free = selecting(big, nodes, full(nodes, [10]));
    expect(victims(free.select({ preempt: true }))).toEqual([]);
  });

  it('are not tried if capacity is not what is missing', () => {
    const nodes = nodesOf(2);
    const Constraints = [{ LTarget: '${node.class}', RTarget: 'x', Operand: '=' }];
    const { select } = selecting({ ...big, Constraints }, nodes, full(nodes, [10, 20]));
    const tried = vi.spyOn(JudgedCandidates.prototype, 'preemptingAt');
    expect(victims(select({ preempt: true }))).toEqual(['nowhere']);
    expect(tried).not.toHaveBeenCalled();
  });

  it('SC-112, SC-141: take the node with the best score of a few, and keep the scores with that of the preemption', () => {
    const nodes = nodesOf(4);
    const { select } = selecting(big, nodes, full(nodes, [30, 40, 10, 20]));
    const first = select({ preempt: true });
    expect(victims(first)).toEqual(['v0']);
    const metas = first.metric.ScoreMetaData ?? [];
    expect(metas.map(({ NodeID }) => nodes.findIndex(({ ID }) => ID === NodeID))).toEqual([0, 1]);
    const { Scores, NormScore } = metas[0]!;
    expect(Scores).toMatchObject({ 'node-reschedule-penalty': 0, 'allocation-spread': 0 });
    expect(NormScore).toBeCloseTo((Scores['binpack']! + Scores['preemption']!) / 2, 12);
    // The search goes on where it stopped, after a look at all of them.
    expect(victims(select({ preempt: true }))).toEqual(['v2']);
  });

  it('SC-110: a node where it failed before is taken last', () => {
    const nodes = nodesOf(2);
    const { select } = selecting(big, nodes, full(nodes, [10, 20]));
    expect(victims(select({ preempt: true, penalised: new Set([nodes[0]!.ID]) }))).toEqual(['v1']);
  });

  it('go on where the search for a node without evictions stopped, and look at each node once', () => {
    const nodes = nodesOf(3);
    const { select, chosen } = selecting(big, nodes, full(nodes, [45, 20, 45]));
    const found = select({ preempt: true });
    expect([victims(found), found.metric.ScoreMetaData?.length]).toEqual([['v1'], 1]);
    expect(chosen({ preempt: true })).toEqual(['n1', 'n1', 3]);
  });

  it('find nothing where no priority is low enough, and the reasons stay', () => {
    const nodes = nodesOf(2);
    const { select } = selecting(big, nodes, full(nodes, [41, 45]));
    for (let i = 0; i < 2; i++) {
      const found = select({ preempt: true });
      expect(found.metric).toMatchObject({ NodesExhausted: 2, ScoreMetaData: null });
      expect(victims(found)).toEqual(['nowhere']);
    }
  });

  it('SC-286: on one node alone', () => {
    const nodes = nodesOf(2);
    const { select } = selecting(big, nodes, full(nodes, [10, 45]));
    expect([0, 1].map((at) => victims(select({ only: nodes[at]!, preempt: true })))).toEqual([['v0'], ['nowhere']]);
    const { metric } = select({ only: nodes[0]!, preempt: true });
    expect(metric.ScoreMetaData).toMatchObject([{ NodeID: nodes[0]!.ID }]);
    expect(victims(select({ only: nodes[0]! }))).toEqual(['nowhere']);
  });
});

it('SC-67: each allocation of a group with volumes of its own is judged by itself', () => {
  const volume = (Name: string) => ({ [Name]: { Name, Path: '/data', ReadOnly: false, ID: '' } });
  const nodes = nodesOf(2, (at) => ({ HostVolumes: volume(`data[${at}]`) }));
  const request = { ...fixtures.aVolumeRequest({ Type: 'host', Source: 'data', PerAlloc: true }) };
  const { chosen } = selecting(small({}, { Volumes: { data: request } }), nodes);
  const named = (at: number): string => chosen({ allocName: `web.web[${at}]` })[0];
  expect([named(0), named(1), named(0), named(2)]).toEqual(['n0', 'n1', 'n0', '']);
  const { chosen: shared } = selecting(small(), nodes);
  expect([shared({ allocName: 'web.web[0]' }), shared({ allocName: 'web.web[1]' })[0]]).toEqual([
    ['n0', 'n0 n1', 2],
    'n0',
  ]);
});
