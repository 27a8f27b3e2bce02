import type { Allocation, Amounts, Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { distance, groupKeyOf, mayEvict, parallelPenalty, preemptionScore, victimsFor } from './preemption.js';

const amounts = (cpuMhz: number, memoryMB: number, diskMB: number): Amounts => ({ cpuMhz, memoryMB, diskMB });
const NOTHING = amounts(0, 0, 0);

/** An allocation of a job of this priority, which uses so much. */
function using(
  Priority: number,
  [CPU, MemoryMB, SizeMB]: [number, number, number],
  over: Partial<Job> = {},
): Allocation {
  const task = fixtures.aTask();
  const group = fixtures.aGroup({
    Tasks: [{ ...task, Resources: { ...task.Resources, CPU, MemoryMB } }],
    EphemeralDisk: { ...fixtures.aGroup().EphemeralDisk, SizeMB },
  });
  return fixtures.anAlloc({ Job: fixtures.aJob({ ID: `of-${Priority}`, Priority, TaskGroups: [group], ...over }) });
}

const victims = (
  proposed: Allocation[],
  wanted: Amounts,
  free: Amounts = NOTHING,
  preemptedOf: (group: string) => number = () => 0,
) => victimsFor({ job: { ID: 'mine', Namespace: 'default', Priority: 50 }, wanted, free, proposed, preemptedOf });

describe('allocations to evict for amounts', () => {
  it.each([
    ['CPU', amounts(500, 0, 0)],
    ['memory', amounts(0, 500, 0)],
    ['disk', amounts(0, 0, 500)],
  ])('SC-133: must suffice for %s as well, together with what is free', (_what, wanted) => {
    const low = using(10, [400, 400, 400]);
    const free = (n: number): Amounts => amounts(n, n, n);
    expect(victims([low], wanted, free(100))).toEqual([low]);
    expect(victims([low], wanted, free(99))).toBeUndefined();
    expect(victims([low], wanted, free(500))).toEqual([]);
  });

  it('SC-135: of one priority the one that uses closest to what is missing, of equal ones the first', () => {
    const [far, near, same] = [using(10, [5_000, 100, 100]), using(10, [600, 100, 100]), using(10, [600, 100, 100])];
    expect(victims([far, near, same], amounts(500, 100, 100))).toEqual([near]);
    expect(victims([far, same, near], amounts(500, 100, 100))).toEqual([same]);
  });

  it('SC-135: what the first one leaves missing decides about the second', () => {
    // 900 are missing, so the 800 come first; of the 100 that are left, 100 are closest.
    const [big, middle, small] = [using(10, [800, 100, 0]), using(10, [500, 100, 0]), using(10, [100, 100, 0])];
    expect(victims([small, middle, big], amounts(900, 0, 0))).toEqual(expect.arrayContaining([big, small]));
    expect(victims([small, middle, big], amounts(900, 0, 0))).toHaveLength(2);
  });

  it('SC-136: an allocation of a group of which the plan has evicted max_parallel already goes last', () => {
    const Migrate = { MaxParallel: 1, HealthCheck: 'checks', MinHealthyTime: 0, HealthyDeadline: 0 };
    const near = using(10, [500, 100, 100], { ID: 'near' });
    const withMigrate = near.Job && { ...near.Job, TaskGroups: near.Job.TaskGroups.map((g) => ({ ...g, Migrate })) };
    const limited = { ...near, Job: withMigrate };
    const far = using(10, [900, 900, 900], { ID: 'far' });
    const evicted = (n: number) => (group: string) => (group === groupKeyOf(limited) ? n : 0);
    expect(victims([limited, far], amounts(500, 100, 100), NOTHING, evicted(0))).toEqual([limited]);
    expect(victims([limited, far], amounts(500, 100, 100), NOTHING, evicted(1))).toEqual([far]);
  });

  it('SC-137: of those chosen, the ones farthest from the request are kept first, until it is met', () => {
    const [a, b, c] = [using(10, [100, 0, 0]), using(20, [200, 0, 0]), using(30, [1_000, 0, 0])];
    expect(victims([a, b, c], amounts(1_000, 0, 0))).toEqual([a, b, c]); // distances 0.9, 0.8 and 0
    const [small, large] = [using(10, [300, 0, 0]), using(20, [2_000, 0, 0])];
    expect(victims([small, large], amounts(900, 0, 0))).toEqual([large]); // distances 0.67 and 1.22
  });

  it('SC-133: leave what was asked and what is free as they were', () => {
    const [wanted, free] = [amounts(500, 100, 100), amounts(1, 1, 1)];
    victims([using(10, [600, 600, 600])], wanted, free);
    expect([wanted, free]).toEqual([amounts(500, 100, 100), amounts(1, 1, 1)]);
  });
});

describe('who may be evicted', () => {
  const job = { ID: 'mine', Namespace: 'default', Priority: 50 };

  it('SC-133: a job that is less important by ten, and not the job itself; the same ID elsewhere is another job', () => {
    expect(mayEvict(using(40, [1, 1, 1]), job)).toBe(true);
    expect(mayEvict(using(41, [1, 1, 1]), job)).toBe(false);
    expect(mayEvict(using(10, [1, 1, 1], { ID: 'mine' }), job)).toBe(false);
    expect(mayEvict(using(10, [1, 1, 1], { ID: 'mine', Namespace: 'other' }), job)).toBe(true);
  });

  it('SC-133: nothing that the server stopped, and nothing of an unknown job', () => {
    expect(mayEvict({ ...using(10, [1, 1, 1]), DesiredStatus: 'stop' }, job)).toBe(false);
    expect(mayEvict({ ...using(10, [1, 1, 1]), DesiredStatus: 'evict' }, job)).toBe(false);
    expect(mayEvict({ ...using(10, [1, 1, 1]), Job: null }, job)).toBe(false);
  });
});

describe('the figures of preemption', () => {
  it('SC-135: what is not asked for has no distance, and too much is as far as too little', () => {
    expect(distance(NOTHING, amounts(9, 9, 9))).toBe(0);
    expect(distance(amounts(100, 0, 0), amounts(150, 9, 9))).toBeCloseTo(0.5, 12);
    expect(distance(amounts(100, 0, 0), amounts(50, 9, 9))).toBeCloseTo(0.5, 12);
    expect(distance(amounts(100, 100, 100), amounts(200, 300, 300))).toBeCloseTo(3, 12);
  });

  it('SC-136: each one beyond max_parallel costs fifty more', () => {
    expect([0, 1, 2, 3, 4].map((preempted) => parallelPenalty(3, preempted))).toEqual([0, 0, 0, 50, 100]);
  });

  it('SC-141: half at 2048, less above it; the highest priority and the mean against it count', () => {
    expect(preemptionScore([2_047])).toBeCloseTo(0.5, 12);
    expect(preemptionScore([2_147])).toBeCloseTo(1 / (1 + Math.exp(0.48)), 12);
    expect(preemptionScore([50, 100, 50])).toBeCloseTo(1 / (1 + Math.exp(0.0048 * (102 - 2_048))), 12);
  });
});
