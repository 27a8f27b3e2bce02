import { defaultSchedulerConfiguration, type PreemptionConfig } from '@waybill/model';
import { fixtures, SINGLETON_KEY } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { configFor, latestDeployment, mayPreempt, queuedAfter } from './attempt.js';

it('the pool of a job overrides what it names of the configuration, and nothing else', () => {
  const { tables } = fixtures.aMachine();
  const stored = { ...fixtures.aSchedulerConfiguration(), SchedulerAlgorithm: 'binpack' as const };
  tables.scheduler_config.replace(SINGLETON_KEY, stored);
  const configWith = (SchedulerAlgorithm: string, MemoryOversubscriptionEnabled: boolean | null) => {
    const SchedulerConfiguration = { SchedulerAlgorithm, MemoryOversubscriptionEnabled };
    tables.node_pools.replace('gpu', fixtures.aNodePool({ Name: 'gpu', SchedulerConfiguration }));
    return configFor(fixtures.aJob({ NodePool: 'gpu' }), tables);
  };
  const { MemoryOversubscriptionEnabled: usual } = configFor(null, tables);
  expect(configWith('', null)).toMatchObject({ SchedulerAlgorithm: 'binpack', MemoryOversubscriptionEnabled: usual });
  expect(configWith('spread', null)).toMatchObject({ SchedulerAlgorithm: 'spread' });
  expect(configWith('', !usual)).toMatchObject({ MemoryOversubscriptionEnabled: !usual });
});

it('a job whose pool overrides nothing has the stored configuration, or the default', () => {
  const { tables } = fixtures.aMachine();
  const job = fixtures.aJob({ NodePool: 'gpu' });
  expect(configFor(job, tables)).toEqual(defaultSchedulerConfiguration());
  const stored = { ...defaultSchedulerConfiguration(), SchedulerAlgorithm: 'spread' as const };
  tables.scheduler_config.replace(SINGLETON_KEY, stored);
  expect(configFor(job, tables)).toEqual(stored);
});

describe('whether a job may preempt', () => {
  const TYPES = ['service', 'batch', 'system', 'sysbatch'] as const;
  const allowed = (config?: Partial<PreemptionConfig>) => {
    const { tables } = fixtures.aMachine();
    if (config) {
      const none = {
        SystemSchedulerEnabled: false,
        SysBatchSchedulerEnabled: false,
        BatchSchedulerEnabled: false,
        ServiceSchedulerEnabled: false,
      };
      const PreemptionConfig = { ...none, ...config };
      tables.scheduler_config.replace(SINGLETON_KEY, { ...defaultSchedulerConfiguration(), PreemptionConfig });
    }
    return TYPES.filter((Type) => mayPreempt(fixtures.aJob({ Type }), tables));
  };

  it('SC-132: depends on its type alone', () => {
    expect(allowed({})).toEqual([]);
    expect(allowed({ ServiceSchedulerEnabled: true })).toEqual(['service']);
    expect(allowed({ BatchSchedulerEnabled: true })).toEqual(['batch']);
    expect(allowed({ SystemSchedulerEnabled: true })).toEqual(['system']);
    expect(allowed({ SysBatchSchedulerEnabled: true })).toEqual(['sysbatch']);
  });

  it('SC-132: is true of every type without a stored configuration', () => {
    expect(allowed()).toEqual(TYPES);
  });
});

it('SC-16: the newest deployment of a job is the one that was created last', () => {
  const { tables } = fixtures.aMachine();
  expect(latestDeployment('default/web', tables)).toBeNull();
  for (const CreateIndex of [4, 7, 5]) {
    const deployment = fixtures.aDeployment({ CreateIndex });
    tables.deployment.replace(deployment.ID, deployment);
  }
  const other = fixtures.aDeployment({ JobID: 'other', CreateIndex: 9 });
  tables.deployment.replace(other.ID, other);
  expect(latestDeployment('default/web', tables)).toMatchObject({ CreateIndex: 7 });
});

it('SC-26, SC-27: what the plan newly created is not queued any more', () => {
  const alloc = (TaskGroup: string, CreateIndex: number, ModifyIndex = CreateIndex) =>
    fixtures.anAlloc({ TaskGroup, CreateIndex, ModifyIndex });
  const NodeAllocation = {
    one: [alloc('web', 7), alloc('web', 5, 7), alloc('web', 0), alloc('api', 1), alloc('gone', 7)],
    two: [alloc('web', 7), alloc('api', 7)],
  };
  expect(queuedAfter({ web: 3, api: 1, db: 2 }, { NodeAllocation })).toEqual({ web: 1, api: 0, db: 2 });
  expect(queuedAfter({ web: 3 }, undefined)).toEqual({ web: 3 });
});
