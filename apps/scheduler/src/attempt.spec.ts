import { fixtures, SINGLETON_KEY } from '@waybill/state';
import { expect, it } from 'vitest';
import { configFor } from './attempt.js';

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
