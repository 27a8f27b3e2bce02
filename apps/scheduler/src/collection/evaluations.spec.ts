import { NS_PER_MINUTE, type Allocation, type Job } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS, MINUTE_MS } from './collecting.fixture.js';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

const collect = (thresholds: Partial<Thresholds> = {}): Promise<void> =>
  world.run('eval-gc', { thresholds: { ...DEFAULT_THRESHOLDS, ...thresholds } });
const names = (): string[] => [...world.tables.allocs.all()].map(({ Name }) => Name).toSorted();

describe('collecting evaluations', () => {
  it.each([
    ['service', 60, true],
    ['service', 59, false],
    ['system', 60, true],
    ['sysbatch', 60, true],
    ['sysbatch', 59, false],
    ['batch', 23 * 60, false],
    ['batch', 24 * 60, true],
  ] as const)('GC-23 EB-152: one of a %s job that ended %s minutes ago goes: %s', async (Type, minutes, goes) => {
    world.evaluation({ ID: 'gone', Type }, { ModifyTime: world.ago(minutes * MINUTE_MS) });
    await collect();
    expect(world.tables.evals.size).toBe(goes ? 0 : 1);
  });

  it.each(['pending', 'blocked'] as const)(
    'GC-22 GC-98: one that is %s stays, with all that it has',
    async (Status) => {
      const job = world.job({ Stop: true });
      const open = world.evaluation(job, { Status });
      world.alloc(open);
      await collect();
      expect(world.left()).toEqual({ jobs: 1, evals: 1, allocs: 1 });
      expect(world.reaps).toEqual([]);
    },
  );

  it('GC-22: of every namespace', async () => {
    world.evaluation({ ID: 'a', Type: 'service' }, { Namespace: 'team' });
    world.evaluation({ ID: 'a', Type: 'service' });
    await collect();
    expect(world.tables.evals.size).toBe(0);
  });

  it.each(['complete', 'failed', 'canceled'] as const)(
    'GC-22 GC-24: one that is %s goes, also without allocations',
    async (Status) => {
      world.evaluation(world.job(), { Status });
      await collect();
      expect(world.tables.evals.size).toBe(0);
    },
  );

  it('GC-13 GC-14 GC-15, ST-165: by its own time, whatever the threshold; without a time it is old', async () => {
    world.evaluation({ ID: 'a', Type: 'service' }, { ModifyTime: world.ago(200 * HOUR_MS) });
    world.evaluation({ ID: 'a', Type: 'service' }, { ModifyTime: world.ago(99 * HOUR_MS) });
    world.evaluation({ ID: 'a', Type: 'service' }, { ModifyTime: 0 });
    await collect({ evaluationNs: 100 * HOUR_MS * 1e6 });
    expect(world.tables.evals.size).toBe(1);
  });

  it('GC-129: no threshold at all, no age protects', async () => {
    world.evaluation({ ID: 'a', Type: 'service' }, { ModifyTime: world.ago(0) });
    await collect({ evaluationNs: 0 });
    expect(world.tables.evals.size).toBe(0);
  });

  it('GC-24 GC-30: what is over goes, the one that runs stays with its evaluation', async () => {
    const evaluation = world.evaluation(world.job());
    world.alloc(evaluation, { Name: 'stopped', DesiredStatus: 'stop' });
    world.alloc(evaluation, { Name: 'lost', ClientStatus: 'lost' });
    world.alloc(evaluation, { Name: 'running', ClientStatus: 'running' });
    await collect();
    expect(names()).toEqual(['running']);
    expect(world.tables.evals.size).toBe(1);
  });

  it('GC-29: failed allocations: the replaced one goes, the one that is still to be replaced stays with its history', async () => {
    const TaskGroups: Job['TaskGroups'] = world.job().TaskGroups.map((group) => ({
      ...group,
      ReschedulePolicy: {
        Attempts: 5,
        Interval: 30 * NS_PER_MINUTE,
        Delay: 0,
        DelayFunction: 'constant',
        MaxDelay: 0,
        Unlimited: false,
      },
    }));
    const job = world.job({ TaskGroups });
    const failed = world.evaluation(job, { Status: 'failed' });
    world.evaluation(job, { Status: 'pending' });
    const Events = [{ RescheduleTime: world.ago(3 * MINUTE_MS), PrevAllocID: '', PrevNodeID: '', Delay: 0 }];
    const RescheduleTracker: Allocation['RescheduleTracker'] = { LastReschedule: '', Events };
    const ClientStatus = 'failed';
    world.alloc(failed, { Name: 'replaced', ClientStatus, RescheduleTracker, NextAllocation: 'next' });
    world.alloc(failed, { Name: 'waiting', ClientStatus, RescheduleTracker });
    await collect();
    expect(names()).toEqual(['waiting']);
    expect(world.tables.evals.size).toBe(2);
  });

  it('GC-31: an allocation that a later evaluation took over keeps that one, and lets its first one go', async () => {
    const job = world.job();
    world.evaluation(job);
    const later = world.evaluation(job);
    world.alloc(later, { ClientStatus: 'running' });
    await collect();
    expect([...world.tables.evals.all()].map(({ ID }) => ID)).toEqual([later.ID]);
  });

  it('GC-35: no pause of the broker is needed', async () => {
    world.evaluation(world.job());
    expect(world.tables.scheduler_config.size).toBe(0);
    await collect();
    expect(world.applied[0]!.verdict).toEqual({ kind: 'accepted' });
  });
});

describe('collecting evaluations of batch jobs', () => {
  const batch = (over: Partial<Job>): Job => world.job({ Type: 'batch', JobModifyIndex: 100, ...over });
  const states = [
    ['stopped and dead', { Status: 'dead', Stop: true }, []],
    ['running', { Status: 'running' }, ['present']],
    ['pending', { Status: 'pending' }, ['present']],
    ['dead, but not stopped', { Status: 'dead' }, ['present']],
  ] as const;

  it.each(
    (['batch', 'sysbatch'] as const).flatMap((Type) =>
      states.map(([state, over, left]) => [Type, state, over, left] as const),
    ),
  )('GC-25 GC-26 GC-100: of a %s job that is %s', async (Type, _state, over, left) => {
    const job = batch({ Type, ...over });
    world.alloc(world.evaluation(job), { Name: 'present', CreateIndex: 101 });
    world.alloc(world.evaluation(job), { Name: 'former', CreateIndex: 99 });
    world.evaluation(job);
    await collect();
    expect(names()).toEqual(left);
    expect(world.tables.evals.size).toBe(left.length);
  });

  it('GC-27 GC-28: nothing goes before its time; then of each what nobody asks for', async () => {
    const at = (over: Partial<Allocation>): Partial<Allocation> => ({ ModifyTime: world.ago(HOUR_MS), ...over });
    const put = (job: Pick<Job, 'ID' | 'Type'>, ...allocs: Partial<Allocation>[]): void => {
      const evaluation = world.evaluation(job, { ModifyTime: world.ago(HOUR_MS) });
      for (const alloc of allocs) world.alloc(evaluation, at(alloc));
    };
    put(batch({ ID: 'stopped', Status: 'dead', Stop: true }), { Name: 'of stopped', CreateIndex: 101 });
    put(batch({ ID: 'finished', Status: 'dead' }), { Name: 'of finished', CreateIndex: 101 });
    const active = batch({ ID: 'active', Status: 'dead' });
    put(
      active,
      { Name: 'running', ClientStatus: 'running', CreateIndex: 99 },
      { Name: 'lost', ClientStatus: 'lost', CreateIndex: 99 },
    );
    put(active, { Name: 'complete', CreateIndex: 99 });
    put({ ID: 'purged', Type: 'batch' }, { Name: 'of purged', CreateIndex: 101 });
    await collect({ batchEvaluationNs: 2 * HOUR_MS * 1e6 });
    expect(world.reaps).toEqual([]);
    await collect({ batchEvaluationNs: NS_PER_MINUTE });
    expect(names()).toEqual(['of finished', 'running']);
    expect(world.tables.jobs.size).toBe(3);
    expect([...world.tables.evals.all()].map(({ JobID }) => JobID).toSorted()).toEqual(['active', 'finished']);
  });
});
