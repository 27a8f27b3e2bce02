import type { AllocMetric, Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { PlanDraft } from './plan-draft.js';
import { PlanFilling } from './plan-filling.js';
import type { Chosen } from './ranking/node-selector.js';
import { PlacementMetric } from './ranking/placement-metric.js';

const metricWith = (over: Partial<AllocMetric>): AllocMetric => ({
  ...new PlacementMetric({ nodes: [], perDatacenter: {} }, 'default').finish(),
  ...over,
});
const chosenOn = (node: Node, over: Partial<Chosen> = {}): Chosen => ({
  node,
  resources: fixtures.anAlloc().AllocatedResources,
  metric: metricWith({ NodesEvaluated: 7 }),
  victims: [],
  ...over,
});

function filling(limit?: number) {
  const { tables } = fixtures.aMachine();
  const [job, node] = [fixtures.aJob(), fixtures.aNode()];
  const evaluation = fixtures.anEval();
  let ids = 0;
  const plan = new PlanDraft(tables, limit);
  const input = { evaluation, tables, index: 1, nowNs: fixtures.timeNs, newId: () => `id-${++ids}` };
  const group = job.TaskGroups[0]!;
  const wanted = {
    name: 'web.web[3]',
    group,
    previous: undefined,
    canary: false,
    deploymentId: '',
    version: null,
    tracker: null,
  };
  const placed = () => plan.build(evaluation, job, 1, null).NodeAllocation[node.ID] ?? [];
  return { filling: new PlanFilling(input, job, plan), plan, evaluation, node, group, wanted, placed };
}

describe('an allocation for which a node was found (SC-146)', () => {
  it('is for the evaluation and the group, on the node, with its resources and metric', () => {
    const { filling: one, evaluation, node, wanted, placed } = filling();
    const chosen = chosenOn(node);
    one.place(wanted, chosen);
    expect(placed()).toMatchObject([
      {
        ID: 'id-1',
        EvalID: evaluation.ID,
        Namespace: 'default',
        JobID: 'web',
        TaskGroup: 'web',
        Name: 'web.web[3]',
        NodeID: node.ID,
        NodeName: node.Name,
        Job: null,
        AllocatedResources: chosen.resources,
        Metrics: chosen.metric,
        DeploymentID: '',
        DeploymentStatus: null,
        PreviousAllocation: '',
        PreemptedAllocations: [],
        RescheduleTracker: null,
        CreateTime: fixtures.timeNs,
        DesiredStatus: 'run',
        ClientStatus: 'pending',
      },
    ]);
  });

  it('SC-147, SC-150: names what it replaces, its tracker, and the version that it is of if that is older', () => {
    const { filling: one, node, wanted, placed } = filling();
    const previous = fixtures.anAlloc();
    const tracker = { Events: [], LastReschedule: 'ok' as const };
    const version = fixtures.aJob({ Version: 2 });
    one.place({ ...wanted, previous, tracker, version }, chosenOn(node));
    expect(placed()).toMatchObject([
      { PreviousAllocation: previous.ID, RescheduleTracker: tracker, Job: { Version: 2 } },
    ]);
  });

  it.each([
    ['a canary of a deployment', true, 'd', { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 }],
    ['a canary without a deployment', true, '', null],
    ['another allocation of a deployment', false, 'd', null],
  ])('SC-148: is marked only as a canary: %s', (_, canary, deploymentId, expected) => {
    const { filling: one, node, wanted, placed } = filling();
    one.place({ ...wanted, canary, deploymentId }, chosenOn(node));
    expect(placed()).toMatchObject([{ DeploymentID: deploymentId, DeploymentStatus: expected }]);
  });

  it('SC-142: preempts its victims, which are counted for its group', () => {
    const { filling: one, plan, node, wanted, placed, evaluation } = filling();
    const victims = [1, 2, 3].map(() => fixtures.anAlloc({ NodeID: node.ID, JobID: 'low' }));
    one.place(wanted, chosenOn(node, { victims: victims.slice(0, 2) }));
    one.place(wanted, chosenOn(node, { victims: victims.slice(2) }));
    expect(placed().map(({ PreemptedAllocations }) => PreemptedAllocations)).toEqual([
      [victims[0]!.ID, victims[1]!.ID],
      [victims[2]!.ID],
    ]);
    expect(plan.build(evaluation, null, 1, null).NodePreemptions[node.ID]).toEqual([
      { ID: victims[0]!.ID, PreemptedByAllocation: 'id-1' },
      { ID: victims[1]!.ID, PreemptedByAllocation: 'id-1' },
      { ID: victims[2]!.ID, PreemptedByAllocation: 'id-2' },
    ]);
    expect([one.evictions('web'), one.evictions('other')]).toEqual([3, 0]);
  });

  it('fills the plan, which is then too small for all', () => {
    const { filling: one, node, wanted } = filling(1);
    expect([one.isFull(), one.truncated]).toEqual([false, false]);
    one.place(wanted, chosenOn(node));
    expect([one.truncated, one.isFull(), one.truncated]).toEqual([false, true, true]);
  });
});

describe('a placement that failed (SC-28, SC-30)', () => {
  it('gives the reason of its group, and later ones of the group are only counted', () => {
    const { filling: one, group } = filling();
    expect(one.hasFailed(group)).toBe(false);
    one.failed(group, metricWith({ NodesExhausted: 1, DimensionExhausted: { cpu: 1 } }));
    one.failed(group, metricWith({ NodesExhausted: 9 }));
    one.failed(group);
    expect([one.hasFailed(group), one.hasFailed({ ...group, Name: 'other' })]).toEqual([true, false]);
    expect(one.failedGroups['web']).toMatchObject({
      NodesExhausted: 1,
      CoalescedFailures: 2,
      ResourcesExhausted: { web: { CPU: 300, MemoryMB: 0 } },
    });
  });

  it('without a reason, and without an earlier one, is not recorded', () => {
    const { filling: one, group } = filling();
    one.failed(group);
    expect(one.failedGroups).toEqual({});
  });
});
