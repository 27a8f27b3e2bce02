import type { Allocation, Job, NetworkResource, Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { preemptionScore } from '../preemption/preemption.js';
import { allocOn, jobAsking, JudgingFixture } from './judging.fixture.js';
import { judge, judgePreempting, type FittingAfterPreemption, type Judgement } from './node-judge.js';

const judgeOf = (job: Job, node: Node, stored: Allocation[] = []): Judgement => {
  const { ask, ranking, deps } = new JudgingFixture(job, [node], stored);
  return judge(node, ask, ranking, deps);
};
const preempting = (job: Job, node: Node, stored: Allocation[] = []): FittingAfterPreemption | undefined => {
  const { ask, ranking, deps } = new JudgingFixture(job, [node], stored);
  return judgePreempting(node, ask, ranking, deps);
};
const NEVER = [{ LTarget: '${node.class}', RTarget: 'x', Operand: '=' }];

describe('a node for one more allocation', () => {
  it.each<[string, Job, Judgement]>([
    ['not feasible', jobAsking(9_999, 1, { Constraints: NEVER }), { kind: 'filtered', reason: '${node.class} = x' }],
    ['without the exclusive resources', withCores(2), { kind: 'exhausted', reason: 'cores' }],
    ['without the amounts', jobAsking(1, 9_999), { kind: 'exhausted', reason: 'memory' }],
  ])('is unsuitable: %s', (_, job, expected) => {
    expect(judgeOf(job, fixtures.aNode())).toEqual(expected);
  });

  it('SC-107, SC-109: is scored with the allocation on it, and by the allocations of the same job and group', () => {
    const node = fixtures.aNode();
    const job = jobAsking(1_000, 2_048);
    const stored = [allocOn(node, job), allocOn(node, { ...job, ID: 'other' })];
    const judgement = judgeOf(job, node, stored);
    if (judgement.kind !== 'fits') throw new Error(judgement.reason);
    expect(judgement.base.binpack).toBeCloseTo((20 - 2 * 10 ** 0.25) / 18, 12);
    expect(judgement.base).toMatchObject({ antiAffinity: -2 / 4, affinity: 0, devices: null });
    expect(judgement.resources.Tasks['web']?.Memory.MemoryMB).toBe(2_048);
  });
});

function withCores(Cores: number): Job {
  const task = fixtures.aTask();
  const Tasks = [{ ...task, Resources: { ...task.Resources, Cores } }];
  return fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Tasks })] });
}

describe('a node after evictions', () => {
  const victimOf = (node: Node, CPU: number, MemoryMB: number, over: Partial<Job> = {}): Allocation =>
    allocOn(node, jobAsking(CPU, MemoryMB, { ID: `of-${CPU}-${MemoryMB}`, Priority: 10, ...over }));

  it('SC-132: is not judged for one that needs none, is not feasible, or lacks what nobody holds', () => {
    const node = fixtures.aNode();
    const stored = [victimOf(node, 4_000, 100)];
    expect(preempting(jobAsking(1, 1), fixtures.aNode())).toBeUndefined();
    expect(preempting(jobAsking(1_000, 1, { Constraints: NEVER }), node, stored)).toBeUndefined();
    expect(preempting(withCores(2), node, stored)).toBeUndefined();
    expect(preempting(jobAsking(4_001, 1), node, stored)).toBeUndefined();
  });

  it.each([
    ['CPU', 4_000, 100, 1],
    ['memory', 100, 8_192, 1],
    ['CPU, of two', 2_000, 100, 2],
    ['memory, of two', 100, 4_096, 2],
  ])('SC-134, SC-141: fits once enough %s is free', (_, CPU, MemoryMB, victims) => {
    const node = fixtures.aNode();
    const stored = Array.from({ length: victims }, () => victimOf(node, CPU, MemoryMB));
    const found = preempting(jobAsking(victims === 1 ? 500 : 3_000, victims === 1 ? 500 : 6_000), node, stored);
    expect(found?.victims.toSorted((a, b) => (a.ID < b.ID ? -1 : 1))).toEqual(stored);
    expect(found?.preemption).toBe(preemptionScore(stored.map(() => 10)));
  });

  it('SC-134: no more of them go than what is missing, in each dimension', () => {
    const small = (CpuShares: number, MemoryMB: number, DiskMB: number): Node => {
      const node = fixtures.aNode();
      const Cpu = { ...node.NodeResources.Cpu, CpuShares };
      return { ...node, NodeResources: { ...node.NodeResources, Cpu, Memory: { MemoryMB }, Disk: { DiskMB } } };
    };
    for (const node of [small(250, 1_000, 9_000), small(9_000, 250, 9_000), small(9_000, 9_000, 750)]) {
      const stored = [victimOf(node, 100, 100), victimOf(node, 100, 100)];
      expect(preempting(jobAsking(100, 100), node, stored)?.victims).toHaveLength(1);
    }
  });

  it('SC-140: evictions for ports come first, and who goes for them is not evicted again', () => {
    const node = fixtures.aNode();
    const port = { Label: 'http', Value: 80, To: 0, HostNetwork: 'default', IgnoreCollision: false };
    const job = jobAsking(3_000, 100);
    const Networks = [{ Mode: 'host', ReservedPorts: [port], DynamicPorts: null } as NetworkResource];
    const asking = { ...job, TaskGroups: [{ ...job.TaskGroups[0]!, Networks }] };
    const holder = victimOf(node, 2_000, 100);
    const Ports = [{ ...port, HostIP: '192.168.0.100' }];
    const shared = { ...holder.AllocatedResources.Shared, Ports };
    const first = { ...holder, AllocatedResources: { ...holder.AllocatedResources, Shared: shared } };
    expect(preempting(asking, node, [first])?.victims).toEqual([first]);
    const second = victimOf(node, 1_500, 100);
    const both = preempting(asking, node, [first, second]);
    expect(both?.victims).toEqual([first, second]);
    expect(both?.resources.Shared.Ports).toMatchObject([{ Value: 80 }]);
  });
});
