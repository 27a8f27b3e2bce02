import { allocsFit, type Allocation, type Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { MAX_PLACEMENTS_PER_PLAN, PlanDraft } from './plan-draft.js';
import { groupKeyOf } from './preemption/preemption.js';
import { schedule } from './schedule.js';
import { SchedulingFixture } from './scheduling.fixture.js';

/** What one attempt with such a limit places of a job that wants four, on a node that takes them all. */
function attempt(type: 'service' | 'batch' | 'system', placementLimit: number) {
  const world = new SchedulingFixture();
  const nodes = type === 'system' ? 4 : 1;
  for (let n = 0; n < nodes; n++) world.addNode();
  const task = fixtures.aTask();
  const small = { ...task, Resources: { ...task.Resources, CPU: 10, MemoryMB: 10 } };
  const group = fixtures.aGroup({ Count: type === 'system' ? 1 : 4, Tasks: [small] }, type);
  const job = world.register(fixtures.aJob({ ID: 'web', Type: type, TaskGroups: [group] }));
  const evaluation = fixtures.anEval({ JobID: job.ID, Type: type });
  const { tables, appliedIndex: index } = world.state;
  const input = { evaluation, tables, index, nowNs: world.nowMs * 1e6, newId: world.newId, placementLimit };
  const { plan, truncated } = schedule(type, input);
  return { placed: Object.values(plan.NodeAllocation).flat().length, truncated };
}

it('a plan holds as many new allocations as it may, not one less and not one more', () => {
  expect(MAX_PLACEMENTS_PER_PLAN).toBe(1_000);
  for (const type of ['service', 'batch', 'system'] as const) {
    expect(attempt(type, 3)).toEqual({ placed: 3, truncated: true });
    expect(attempt(type, 4)).toEqual({ placed: 4, truncated: false });
    expect(attempt(type, 5)).toEqual({ placed: 4, truncated: false });
  }
});

it.each([
  ['service', 3, 2],
  ['system', 4, 3],
] as const)('a plan that is full of replacements of a %s job leaves the others', (type, placed, stopped) => {
  const world = new SchedulingFixture();
  for (let n = 0; n < 3; n++) world.addNode();
  const version = (n: number, Count: number): Job => {
    const Tasks = [fixtures.aTask({ Config: { n } })];
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 3 };
    const group = fixtures.aGroup({ Count: type === 'system' ? 1 : Count, Tasks, Update }, type);
    return world.register(fixtures.aJob({ Type: type, TaskGroups: [group] }));
  };
  version(1, 3);
  world.run({ Type: type });
  world.allRunHealthy();
  version(2, 4);
  if (type === 'system') world.addNode();
  const evaluation = fixtures.anEval({ Type: type });
  const { tables, appliedIndex: index } = world.state;
  const planned = (placementLimit: number) => {
    const input = { evaluation, tables, index, nowNs: world.nowMs * 1e6, newId: world.newId, placementLimit };
    const { plan, truncated } = schedule(type, input);
    const counts = [plan.NodeAllocation, plan.NodeUpdate].map((byNode) => Object.values(byNode).flat().length);
    return [...counts, truncated];
  };
  expect([planned(2), planned(4), planned(9)]).toEqual([
    [2, 2, true],
    [placed, stopped, false],
    [placed, stopped, false],
  ]);
});

describe('the state as it will be with the plan (SC-97, SC-98)', () => {
  /** A node with three running allocations, one of which is of another job. */
  function drafting(limit?: number) {
    const world = new SchedulingFixture();
    const node = world.addNode();
    const job = world.register(fixtures.aJob({ ID: 'web' }));
    const other = world.register(fixtures.aJob({ ID: 'other' }));
    const alloc = (Job: Job, over: Partial<Allocation> = {}) =>
      fixtures.anAlloc({ Job, JobID: Job.ID, NodeID: node.ID, ClientStatus: 'running', ...over });
    const stored = [alloc(job), alloc(job), alloc(other)] as [Allocation, Allocation, Allocation];
    const { tables } = world.state;
    for (const one of stored) tables.allocs.replace(one.ID, one);
    const draft = new PlanDraft(tables, limit);
    /** IDs on the node, after a check that the sums are those of the allocations. */
    const there = (): string[] => {
      const view = draft.viewOf(node.ID);
      const { cpuMhz, memoryMB, diskMB, allocs } = view.used;
      expect({ cpuMhz, memoryMB, diskMB }).toEqual(allocsFit(node, [...view.allocs]).used);
      expect([allocs, view.count]).toEqual([view.allocs.length, view.allocs.length]);
      return view.allocs.map(({ ID }) => ID);
    };
    return { draft, tables, node, job, stored, alloc, there };
  }

  it('SC-98: what is stopped, preempted or placed counts at once, and a withdrawn stop no more', () => {
    const { draft, stored, job, alloc, there } = drafting();
    const [a, b, c] = stored;
    expect(there()).toEqual([a.ID, b.ID, c.ID]);
    draft.stop({ alloc: a, description: 'gone' });
    expect(there()).toEqual([b.ID, c.ID]);
    const made = alloc(job, { ClientStatus: 'pending' });
    draft.place(made);
    expect(there()).toEqual([b.ID, c.ID, made.ID]);
    const next = alloc(job, { ClientStatus: 'pending' });
    draft.place(next);
    expect(there()).toEqual([b.ID, c.ID, made.ID, next.ID]);
    draft.withdrawStop(a);
    expect(there()).toEqual([a.ID, b.ID, c.ID, made.ID, next.ID]);
    draft.preempt(c, made.ID);
    expect(there()).toEqual([a.ID, b.ID, made.ID, next.ID]);
    expect(draft.countChanges.map(({ by }) => by)).toEqual([-1, 1, 1, 1]);
    expect(draft.touchedNodes).toHaveLength(5);
  });

  it('SC-97: an allocation that its agent has ended takes nothing, one that is only told to stop still does', () => {
    const { draft, tables, job, stored, alloc, there } = drafting();
    const [ended, stopping] = [alloc(job, { ClientStatus: 'complete' }), alloc(job, { DesiredStatus: 'stop' })];
    for (const one of [ended, stopping]) tables.allocs.replace(one.ID, one);
    expect(there()).toEqual([...stored.map(({ ID }) => ID), stopping.ID]);
    draft.stop({ alloc: stopping, description: 'again' });
    expect(draft.countChanges).toEqual([]);
    draft.withdrawStop(stopping);
    expect(draft.countChanges).toEqual([]);
  });

  it('a stored allocation that is written again is on the node once, in its last form', () => {
    const { draft, stored, there } = drafting();
    const [a] = stored;
    expect(draft.formOf(a)).toBe(a);
    const [first, last] = [
      { ...a, DesiredDescription: 'first' },
      { ...a, DesiredDescription: 'last' },
    ];
    draft.place(first);
    draft.place(last);
    expect(there()).toHaveLength(3);
    expect(draft.formOf(a)).toBe(last);
    expect([draft.isFull, draft.countChanges]).toEqual([false, []]);
    draft.stop({ alloc: stored[1], description: '' });
    expect(draft.formOf(stored[1])).toBe(stored[1]);
  });

  it('is full with as many new allocations as it may hold; updates do not count', () => {
    const { draft, job, stored, alloc } = drafting(1);
    draft.place({ ...stored[0], DesiredDescription: 'again' });
    expect(draft.isFull).toBe(false);
    draft.place(alloc(job));
    expect(draft.isFull).toBe(true);
  });

  it('SC-136: counts what it preempts of each group', () => {
    const { draft, stored } = drafting();
    const [a, b, c] = stored;
    draft.preempt(a, 'x');
    draft.preempt(b, 'x');
    expect([draft.preemptedOf(groupKeyOf(a)), draft.preemptedOf(groupKeyOf(c))]).toEqual([2, 0]);
  });

  it('the plan has the changes of a node, and the nodes that it touched, in the order in which they came', () => {
    const { draft, tables, node, job, alloc } = drafting();
    const elsewhere = alloc(job, { NodeID: fixtures.freshId() });
    const [a, b, c, d] = [0, 1, 2, 3].map(() => alloc(job)) as [Allocation, Allocation, Allocation, Allocation];
    for (const one of [a, b, c, d, elsewhere]) tables.allocs.replace(one.ID, one);
    const [made, next] = [alloc(job), alloc(job, { NodeID: elsewhere.NodeID })];
    draft.stop({ alloc: elsewhere, description: '' });
    for (const one of [a, b]) draft.stop({ alloc: one, description: '' });
    for (const one of [c, d]) draft.preempt(one, made.ID);
    for (const one of [made, next]) draft.place(one);
    draft.withdrawStop(elsewhere);
    const [here, there] = [node.ID, elsewhere.NodeID];
    expect(draft.touchedNodes).toEqual([there, here, here, here, here, here, there, there]);
    const plan = draft.build(fixtures.anEval(), job, 9, null);
    const ids = (list: { ID: string }[] | undefined) => list?.map(({ ID }) => ID);
    expect(ids(plan.NodeUpdate[here])).toEqual([a.ID, b.ID]);
    expect(ids(plan.NodePreemptions[here])).toEqual([c.ID, d.ID]);
    expect(plan.NodeUpdate[here]).toEqual(
      [a, b].map(({ ID }) => ({ ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' })),
    );
    expect(Object.keys(plan.NodeUpdate)).toEqual([here]);
  });

  it('the plan has every change by node, and nothing of a stop that was withdrawn', () => {
    const { draft, node, job, stored, alloc } = drafting();
    const [a, b, c] = stored;
    const made = alloc(job);
    draft.stop({ alloc: a, description: 'gone', clientStatus: 'lost', followupEvalId: 'f' });
    draft.stop({ alloc: b, description: 'gone' });
    draft.withdrawStop(b);
    draft.preempt(c, made.ID);
    draft.place(made);
    const evaluation = fixtures.anEval({ Priority: 70 });
    expect(draft.build(evaluation, job, 9, null)).toMatchObject({
      EvalID: evaluation.ID,
      Priority: 70,
      AllAtOnce: false,
      SnapshotIndex: 9,
      NodeUpdate: { [node.ID]: [{ ID: a.ID, ClientStatus: 'lost', FollowupEvalID: 'f' }] },
      NodePreemptions: { [node.ID]: [{ ID: c.ID, PreemptedByAllocation: made.ID }] },
    });
    draft.withdrawStop(a);
    const plan = draft.build(evaluation, null, 9, null);
    expect([plan.NodeUpdate, plan.Job, plan.AllAtOnce]).toEqual([{}, null, false]);
  });
});
