import type { Allocation } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { isSafeToDelete } from './eval-safety.js';
import { fixtures } from '../fixtures.js';

const { aGroup, aJob, anAlloc } = fixtures;
const policy = {
  Attempts: 2,
  Interval: 60e9,
  Delay: 5e9,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
} as const;
const jobWith = (ReschedulePolicy: { Attempts: number; Unlimited: boolean } | null) =>
  aJob({
    Status: 'running',
    TaskGroups: [aGroup({ Name: 'web', ReschedulePolicy: ReschedulePolicy && { ...policy, ...ReschedulePolicy } })],
  });
const limited = jobWith({ Attempts: 2, Unlimited: false });
const history = { Events: [{ RescheduleTime: 1, PrevAllocID: 'x', PrevNodeID: 'y', Delay: 1 }], LastReschedule: '' };
const safe = (job: Parameters<typeof isSafeToDelete>[0], ...allocs: Partial<Allocation>[]) =>
  isSafeToDelete(job, () => allocs.map((over) => anAlloc({ Job: job ?? null, TaskGroup: 'web', ...over })));

describe('what may be deleted', () => {
  it('EB-306, API-189: everything of a job that is gone, stopped or dead', () => {
    const running = { ClientStatus: 'running' } as const;
    for (const job of [undefined, aJob({ Stop: true, Status: 'running' }), aJob({ Status: 'dead' })])
      expect(safe(job, running)).toBe(true);
    expect(safe(limited, running)).toBe(false);
  });

  it('EB-306, API-189: not while an allocation runs or may run', () => {
    expect(safe(limited)).toBe(true);
    for (const ClientStatus of ['pending', 'complete', 'lost'] as const)
      expect(safe(limited, { ClientStatus })).toBe(true);
    for (const ClientStatus of ['running', 'unknown'] as const)
      expect(safe(limited, { ClientStatus: 'complete' }, { ClientStatus })).toBe(false);
  });

  it('EB-306, API-189: not while one that failed needs it to be rescheduled', () => {
    const failed = { ClientStatus: 'failed' } as const;
    const replaced = { ...failed, NextAllocation: 'next', RescheduleTracker: history };
    expect(safe(limited, failed), 'not replaced').toBe(false);
    expect(safe(limited, replaced)).toBe(true);
    expect(safe(limited, { ...replaced, RescheduleTracker: null }), 'never rescheduled').toBe(false);
    expect(safe(jobWith({ Attempts: 0, Unlimited: true }), replaced), 'unlimited').toBe(false);
    expect(safe(jobWith({ Attempts: 0, Unlimited: false }), failed), 'no rescheduling').toBe(true);
    expect(safe(jobWith(null), failed)).toBe(true);
    expect(safe(limited, { ...failed, TaskGroup: 'gone' }), 'its group is gone').toBe(true);
  });
});
