import { NO_TRANSITION, type Allocation, type Job, type Node } from '@waybill/model';
import { fixtures, type Tables } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { reconcileNodes, type NodeReconcileInput } from './node-reconciler.js';

const NOW_NS = fixtures.timeNs;

function jobOf(over: Partial<Job> = {}): Job {
  const TaskGroups = [fixtures.aGroup({ Count: 1 }, 'system')];
  return fixtures.aJob({ Type: 'system', Version: 1, CreateIndex: 10, JobModifyIndex: 20, TaskGroups, ...over });
}

const nodeOf = (over: Partial<Node> = {}): Node => fixtures.aNode({ ID: fixtures.freshId(), ...over });
const on = (node: Node, job: Job, over: Partial<Allocation> = {}): Allocation =>
  fixtures.anAlloc({ Job: job, NodeID: node.ID, Name: 'web.web[0]', ClientStatus: 'running', ...over });

/** Reconciles with these nodes as candidates, and these beside them. */
function reconciled(
  job: Job | null,
  candidates: Node[],
  allocs: Allocation[],
  { others = [], tainted = new Map() }: { others?: Node[]; tainted?: NodeReconcileInput['tainted'] } = {},
) {
  const nodes = new Map([...candidates, ...others].map((node) => [node.ID, node]));
  const tables = { nodes } as unknown as Tables;
  return reconcileNodes({ job, allocs, candidates, tainted, tables, nowNs: NOW_NS });
}

describe('what is missing on a node', () => {
  it('SC-271: each name of each group once on each candidate, and nothing where it lives', () => {
    const [group] = jobOf().TaskGroups;
    const job = jobOf({
      TaskGroups: [
        { ...group!, Count: 2 },
        { ...group!, Name: 'none', Count: 0 },
      ],
    });
    const [first, second] = [nodeOf(), nodeOf()];
    const { placements, desired } = reconciled(job, [first, second], [on(first, job)]);
    expect(placements.map(({ node, name }) => [node.ID, name])).toEqual([
      [first.ID, 'web.web[1]'],
      [second.ID, 'web.web[0]'],
      [second.ID, 'web.web[1]'],
    ]);
    expect(desired['web']).toMatchObject({ Place: 3, Ignore: 1 });
    expect(desired['none']).toBeUndefined();
  });

  it('SC-276: is placed after the last one that ended there, by when they were created', () => {
    const [node, job] = [nodeOf(), jobOf()];
    const ended = [5, 7, 6].map((CreateIndex) => on(node, job, { ClientStatus: 'failed', CreateIndex }));
    expect(reconciled(job, [node], ended).placements).toMatchObject([{ previous: { CreateIndex: 7 } }]);
    const zero = on(node, job, { ClientStatus: 'failed', CreateIndex: 0 });
    expect(reconciled(job, [node], [zero]).placements).toMatchObject([{ previous: { ID: zero.ID } }]);
  });

  it('SC-278: is not placed on a candidate that is tainted', () => {
    const node = nodeOf();
    const tainted = new Map([[node.ID, node]]);
    expect(reconciled(jobOf(), [node], [], { tainted }).placements).toEqual([]);
  });

  it('SC-277: of sysbatch runs once for each specification', () => {
    const node = nodeOf();
    const job = jobOf({ Type: 'sysbatch' });
    const after = (previous: Job | null) => {
      const { placements, updates, desired } = reconciled(
        job,
        [node],
        [on(node, job, { Job: previous, ClientStatus: 'complete' })],
      );
      return [
        placements.length,
        updates.map(({ kind }) => kind),
        desired['web']?.Ignore,
        desired['web']?.InPlaceUpdate,
      ];
    };
    const tasks = [{ ...job.TaskGroups[0]!, Tasks: [fixtures.aTask({ Config: { version: 2 } })] }];
    expect(after(job)).toEqual([0, [], 1, 0]);
    expect(after({ ...job, JobModifyIndex: 19 })).toEqual([0, [], 0, 1]);
    expect(after({ ...job, CreateIndex: 9 })).toEqual([0, [], 0, 1]);
    expect(after({ ...job, JobModifyIndex: 19, TaskGroups: tasks })).toEqual([0, ['changed'], undefined, undefined]);
    expect(after(null)).toEqual([0, ['changed'], undefined, undefined]);
    expect(reconciled(job, [node], []).placements).toHaveLength(1);
  });
});

describe('SC-274: what becomes of an allocation', () => {
  it('S1: of a stopped job, or of no group of it, it is stopped once', () => {
    const [node, job] = [nodeOf(), jobOf()];
    const alloc = on(node, job);
    for (const gone of [null, { ...job, Stop: true }])
      expect(reconciled(gone, [node], [alloc])).toMatchObject({
        stops: [{ alloc: { ID: alloc.ID } }],
        placements: [],
        desired: { web: { Stop: 1 } },
      });
    const surplus = on(node, job, { Name: 'web.web[1]' });
    expect(reconciled(job, [node], [alloc, surplus]).stops).toMatchObject([{ alloc: { ID: surplus.ID } }]);
  });

  it('S2: told to migrate, it is stopped', () => {
    const [node, job] = [nodeOf(), jobOf()];
    const alloc = on(node, job, { DesiredTransition: { ...NO_TRANSITION, Migrate: true } });
    expect(reconciled(job, [node], [alloc]).stops).toMatchObject([{ alloc: { ID: alloc.ID } }]);
  });

  it('S6 to S9: on a node that is away', () => {
    const job = jobOf();
    const node = nodeOf();
    const outcome = (given: Job, taint: Partial<Node> | null, over: Partial<Allocation> = {}) => {
      const tainted = new Map([[node.ID, taint && { ...node, ...taint }]]);
      const { stops, rewrites, desired } = reconciled(given, [], [on(node, given, over)], { tainted, others: [node] });
      const counts = desired['web'];
      return [stops.length, rewrites.length, counts?.Stop, counts?.Disconnect, counts?.Ignore];
    };
    const [lost, unknown, ignored] = [
      [1, 0, 1, 0, 0],
      [0, 1, 0, 1, 0],
      [0, 0, 0, 0, 1],
    ];
    expect(outcome(job, null)).toEqual(lost);
    expect(outcome(job, { Status: 'down' })).toEqual(lost);
    expect(outcome(job, { Status: 'disconnected' })).toEqual(unknown);
    expect(outcome(job, { Status: 'disconnected' }, { ClientStatus: 'pending' })).toEqual(ignored);
    expect(outcome(job, { Status: 'ready' })).toEqual(ignored);
  });

  it('S10 to S14: on a node that is there', () => {
    const job = jobOf();
    const before = jobOf({ JobModifyIndex: 19 });
    const kinds = (candidate: boolean, over: Partial<Node>, alloc: Partial<Allocation> = {}) => {
      const node = nodeOf(over);
      const { stops, updates, desired } = reconciled(job, candidate ? [node] : [], [on(node, job, alloc)], {
        others: [node],
      });
      return stops.length > 0 ? 'stopped' : (updates[0]?.kind ?? (desired['web']?.Ignore === 1 ? 'ignored' : 'none'));
    };
    const AllocStates = [{ Field: 0 as const, Value: 'unknown', Time: '2026-01-01T00:00:00Z' }];
    expect(kinds(true, {})).toBe('ignored');
    expect(kinds(true, {}, { Job: before })).toBe('changed');
    expect(kinds(true, {}, { AllocStates })).toBe('returned');
    expect(kinds(true, {}, { AllocStates, ClientStatus: 'pending' })).toBe('ignored');
    expect(kinds(false, {})).toBe('stopped');
    expect(kinds(false, { SchedulingEligibility: 'ineligible' })).toBe('ignored');
    expect(kinds(false, { SchedulingEligibility: 'ineligible' }, { Job: before })).toBe('stopped');
    expect(kinds(false, { SchedulingEligibility: 'ineligible' }, { AllocStates })).toBe('returned');
    expect(kinds(false, { Status: 'initializing' })).toBe('ignored');
    expect(kinds(false, { Status: 'initializing' }, { AllocStates })).toBe('ignored');
  });

  it('ND-110: running beside its replacement, it is stopped', () => {
    const [node, job] = [nodeOf(), jobOf()];
    const next = on(node, job);
    const old = on(node, job, { NextAllocation: next.ID });
    expect(reconciled(job, [node], [old, next]).stops).toMatchObject([{ alloc: { ID: old.ID } }]);
    const ended = { ...next, ClientStatus: 'complete' as const };
    expect(reconciled(job, [node], [old, ended]).stops).toEqual([]);
  });
});

describe('what a rollout is told', () => {
  it('DP-1603: ignored allocations of another specification are counted by group', () => {
    const job = jobOf();
    const [a, b, c] = [nodeOf(), nodeOf(), nodeOf()];
    const tainted = new Map([a, b, c].map((node) => [node.ID, node]));
    const old = jobOf({ JobModifyIndex: 19 });
    const allocs = [on(a, old), on(b, old), on(c, job)];
    expect(reconciled(job, [], allocs, { tainted }).outdated).toEqual({ web: 2 });
  });

  it('SC-288: it is news if a candidate lacks the version, or an allocation is to be updated', () => {
    const job = jobOf();
    const [a, b] = [nodeOf(), nodeOf()];
    const isNews = (...allocs: Allocation[]) => reconciled(job, [a, b], allocs).isNews;
    expect(isNews(on(a, job), on(b, job))).toBe(false);
    expect(isNews(on(a, job), on(b, job, { ClientStatus: 'failed' }))).toBe(false);
    expect(isNews(on(a, job))).toBe(true);
    expect(isNews(on(a, job), on(b, jobOf({ Version: 0 })))).toBe(true);
    expect(isNews(on(a, job), on(b, jobOf({ CreateIndex: 9 })))).toBe(true);
    expect(isNews(on(a, job), on(b, { ...job, JobModifyIndex: 19 }))).toBe(true);
    expect(reconciled(job, [], []).isNews).toBe(false);
  });
});

it('SC-274 S6: a sysbatch allocation that ran successfully is left alone on any tainted node', () => {
  const TaskStates = {
    web: {
      State: 'dead' as const,
      Failed: false,
      Restarts: 0,
      LastRestart: null,
      StartedAt: null,
      FinishedAt: null,
      Events: [],
      Paused: '',
    },
  };
  const gone = (Type: 'system' | 'sysbatch', over: Partial<Allocation>) => {
    const [node, job] = [nodeOf(), jobOf({ Type })];
    const tainted = new Map([[node.ID, null]]);
    const { stops, desired } = reconciled(job, [], [on(node, job, over)], { tainted });
    return [stops.length, desired['web']?.Ignore, desired['web']?.Stop];
  };
  expect(gone('sysbatch', { TaskStates })).toEqual([0, 1, 0]);
  expect(gone('sysbatch', {})).toEqual([1, 0, 1]);
  expect(gone('system', { TaskStates })).toEqual([1, 0, 1]);
});

describe('the order of what a system job wants', () => {
  it('SC-274: stops, updates and unknown allocations are in the order of the stored ones', () => {
    const job = jobOf();
    const nodes = Array.from({ length: 6 }, () => nodeOf());
    const [first, second, third, fourth, fifth, sixth] = nodes as [Node, Node, Node, Node, Node, Node];
    const old = { ...job, JobModifyIndex: 19 };
    const leaving = { DesiredTransition: { ...NO_TRANSITION, Migrate: true } };
    const allocs = [
      on(second, job, leaving),
      on(first, job, leaving),
      on(fourth, old),
      on(third, old),
      on(sixth, job),
      on(fifth, job),
    ];
    const tainted = new Map([fifth, sixth].map((node) => [node.ID, { ...node, Status: 'disconnected' as const }]));
    const { stops, updates, rewrites } = reconciled(job, [first, second, third, fourth], allocs, { tainted });
    expect(stops.map(({ alloc }) => alloc.NodeID)).toEqual([second.ID, first.ID]);
    expect(updates.map(({ node }) => node.ID)).toEqual([fourth.ID, third.ID]);
    expect(rewrites.map(({ NodeID }) => NodeID)).toEqual([sixth.ID, fifth.ID]);
  });
});
