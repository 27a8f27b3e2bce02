import { defaultSchedulerConfiguration, type Amounts, type Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { distance, parallelPenalty, preemptionScore, victimsFor } from './preemption.js';
import { placedBy, SchedulingFixture } from './scheduling.fixture.js';

const amounts = (cpuMhz: number, memoryMB: number, diskMB: number): Amounts => ({ cpuMhz, memoryMB, diskMB });

describe('arithmetic (22.6)', () => {
  it.each([
    [2048, 512, 4096, 0],
    [1024, 400, 1024, 0.928],
    [8192, 200, 1024, 3.152],
    [2048, 500, 4096, 0.023],
    [1024, 256, 0, 1.225],
  ])('SC-135: %d MHz, %d MB, %d MB disk', (cpu, memory, disk, expected) => {
    expect(distance(amounts(2048, 512, 4096), amounts(cpu, memory, disk))).toBeCloseTo(expected, 3);
  });

  it('SC-136: beyond max_parallel it costs', () => {
    expect([0, 1, 2].map((preempted) => parallelPenalty(1, preempted))).toEqual([0, 50, 100]);
    expect(parallelPenalty(0, 5)).toBe(0);
  });

  it.each([
    [[10], 0.999943],
    [[30, 30], 0.999937],
    [[20, 40, 40], 0.999934],
  ])('SC-141: victims of %j', (priorities, expected) => {
    expect(preemptionScore(priorities)).toBeCloseTo(expected, 6);
  });
});

describe('who has to go', () => {
  const running = (Priority: number, CPU: number, ID = `p${Priority}`) => {
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU, MemoryMB: 100 } }] });
    return fixtures.anAlloc({ Job: fixtures.aJob({ ID, Priority, TaskGroups: [group] }) });
  };
  const ask = (proposed: ReturnType<typeof running>[], cpu: number, job: Partial<Job> = {}) =>
    victimsFor({
      job: { ID: 'mine', Namespace: 'default', Priority: 50, ...job },
      wanted: amounts(cpu, 0, 0),
      free: amounts(0, 0, 0),
      proposed,
      preemptedOf: () => 0,
    });

  it('SC-133: a difference of ten, not of nine, and never one of its own', () => {
    expect(ask([running(40, 500)], 500)).toHaveLength(1);
    expect(ask([running(41, 500)], 500)).toBeUndefined();
    expect(ask([running(40, 500, 'mine')], 500)).toBeUndefined();
  });

  it('SC-134: the least important first, of these the closest', () => {
    const [low, fits, high] = [running(10, 100), running(20, 400), running(30, 400)];
    expect(ask([high, fits, low], 500)).toEqual([low, fits]);
  });

  it('SC-137: who turns out not to be needed stays', () => {
    const [small, huge] = [running(10, 100), running(20, 5_000)];
    expect(ask([small, huge], 600)).toEqual([huge]);
  });
});

describe('making room', () => {
  const sized = (ID: string, Priority: number, CPU: number, over: Partial<Job> = {}): Job => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU } }];
    return fixtures.aJob({ ID, Priority, TaskGroups: [fixtures.aGroup({ Tasks }, over.Type)], ...over });
  };
  const configured = (enabled: boolean): SchedulingFixture => {
    const world = new SchedulingFixture();
    fixtures.apply(world.state, 'SchedulerConfig', {
      Config: {
        ...defaultSchedulerConfiguration(),
        PreemptionConfig: {
          SystemSchedulerEnabled: enabled,
          SysBatchSchedulerEnabled: enabled,
          BatchSchedulerEnabled: enabled,
          ServiceSchedulerEnabled: enabled,
        },
      },
      CAS: false,
      ModifyIndex: 0,
    });
    world.addNode();
    world.register(sized('low', 20, 3_000));
    world.run({ JobID: 'low' });
    return world;
  };

  it.each(['service', 'batch', 'system'])('SC-132, SC-142, SC-286: for a more important %s job', (Type) => {
    const world = configured(true);
    const [victim] = world.allocs();
    world.register(sized('high', 80, 3_000, { Type }));
    const attempt = world.run({ JobID: 'high', Type });
    const [made] = placedBy(attempt);
    expect(made).toMatchObject({ PreemptedAllocations: [victim!.ID] });
    const scores = made?.Metrics?.ScoreMetaData?.[0]?.Scores;
    expect(scores?.['preemption']).toBeCloseTo(preemptionScore([20]), 9);
    expect(scores?.['binpack']).toBeCloseTo(0.5576, 4); // of 6,000 MHz used: the victim is still counted (SC-108)
    expect(attempt.plan.NodePreemptions).toEqual({
      [victim!.NodeID]: [{ ID: victim!.ID, PreemptedByAllocation: made!.ID }],
    });
    expect(attempt.annotations.DesiredTGUpdates['web']?.Preemptions).toBe(1);
    expect(world.state.tables.allocs.get(victim!.ID)).toMatchObject({
      DesiredStatus: 'evict',
      DesiredDescription: `Preempted by alloc ID ${made!.ID}`,
    });
    expect(world.attempt({ JobID: 'high', Type }).isNoop).toBe(true);
  });

  it('SC-132: not where it is switched off', () => {
    const world = configured(false);
    world.register(sized('high', 80, 3_000));
    const attempt = world.attempt({ JobID: 'high' });
    expect(attempt.isNoop).toBe(true);
    expect(attempt.failedGroups['web']).toMatchObject({ NodesExhausted: 1 });
  });

  it('SC-270, SC-328: the victim is placed again when there is room, without link or tracker', () => {
    const world = configured(true);
    const [victim] = world.allocs();
    world.register(sized('high', 80, 3_000));
    world.run({ JobID: 'high' });
    world.addNode();
    expect(placedBy(world.run({ JobID: 'low', TriggeredBy: 'preemption' }))).toMatchObject([
      { Name: victim!.Name, PreviousAllocation: '', RescheduleTracker: null },
    ]);
  });
});
