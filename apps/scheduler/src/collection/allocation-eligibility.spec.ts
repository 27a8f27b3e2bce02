import { NS_PER_MINUTE, type Allocation, type Job, type ReschedulePolicy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { isCollectable, isFormerResult } from './allocation-eligibility.js';

const NOW = 1_767_225_600_000 * 1e6;
const OLD = NOW - 120 * NS_PER_MINUTE;
const CUTOFF = NOW - 60 * NS_PER_MINUTE;

interface Case {
  readonly client: Allocation['ClientStatus'];
  readonly desired: Allocation['DesiredStatus'];
  /** `gone`: there is no such job any more. */
  readonly job?: 'stopped' | 'dead' | 'gone';
  readonly policy?: { readonly Attempts?: number; readonly minutes?: number; readonly Unlimited?: boolean };
  /** Minutes since each reschedule, as the list has them. */
  readonly events?: readonly number[];
  readonly replaced?: boolean;
  readonly young?: boolean;
  readonly collect: boolean;
}

/** The truth table of the collector's reference (GC-18): all old, of a running job, unless it says otherwise. */
const TABLE: readonly Case[] = [
  { client: 'pending', desired: 'run', collect: false },
  { client: 'pending', desired: 'run', job: 'stopped', collect: false },
  { client: 'pending', desired: 'run', job: 'dead', collect: false },
  { client: 'running', desired: 'stop', job: 'dead', collect: false },
  { client: 'pending', desired: 'stop', collect: false }, // not in the table: its machine has not said that it ended
  { client: 'complete', desired: 'run', collect: true },
  { client: 'complete', desired: 'stop', young: true, collect: false },
  { client: 'failed', desired: 'run', collect: true },
  { client: 'failed', desired: 'run', policy: { Attempts: 0 }, collect: true },
  { client: 'failed', desired: 'run', policy: { Attempts: 1, minutes: 1 }, collect: false },
  { client: 'failed', desired: 'run', policy: { Attempts: 2, minutes: 30 }, events: [5], collect: false },
  { client: 'failed', desired: 'run', policy: { Attempts: 5, minutes: 30 }, events: [45, 60], collect: true },
  { client: 'failed', desired: 'run', policy: { Attempts: 5, minutes: 30 }, events: [60, 3], collect: false },
  {
    client: 'failed',
    desired: 'run',
    policy: { Attempts: 5, minutes: 30 },
    events: [3],
    replaced: true,
    collect: true,
  },
  { client: 'failed', desired: 'run', policy: { Unlimited: true }, collect: false },
  {
    client: 'failed',
    desired: 'run',
    job: 'stopped',
    policy: { Attempts: 5, minutes: 30 },
    events: [3],
    collect: true,
  },
  { client: 'lost', desired: 'stop', job: 'dead', collect: true },
  { client: 'failed', desired: 'run', job: 'dead', policy: { Attempts: 5, minutes: 30 }, events: [3], collect: true },
  { client: 'failed', desired: 'stop', policy: { Unlimited: true }, collect: true },
  { client: 'failed', desired: 'stop', policy: { Attempts: 5, minutes: 30 }, events: [3], collect: true },
  { client: 'unknown', desired: 'run', collect: false },
  { client: 'complete', desired: 'run', job: 'gone', collect: true },
];

const policyOf = ({ policy }: Case): ReschedulePolicy | null =>
  policy
    ? {
        Attempts: policy.Attempts ?? 0,
        Interval: (policy.minutes ?? 0) * NS_PER_MINUTE,
        Delay: 0,
        DelayFunction: 'constant',
        MaxDelay: 0,
        Unlimited: policy.Unlimited ?? false,
      }
    : null;

function jobOf(given: Case): Job | undefined {
  if (given.job === 'gone') return undefined;
  const job = fixtures.aJob();
  const TaskGroups = job.TaskGroups.map((group) => ({ ...group, ReschedulePolicy: policyOf(given) }));
  return { ...job, TaskGroups, Stop: given.job === 'stopped', Status: given.job === 'dead' ? 'dead' : 'running' };
}

const allocOf = ({ client, desired, events, replaced, young }: Case): Allocation =>
  fixtures.anAlloc({
    ClientStatus: client,
    DesiredStatus: desired,
    ModifyTime: young ? NOW : OLD,
    NextAllocation: replaced ? 'next' : '',
    RescheduleTracker: events
      ? {
          LastReschedule: '',
          Events: events.map((minutes) => ({
            RescheduleTime: NOW - minutes * NS_PER_MINUTE,
            PrevAllocID: '',
            PrevNodeID: '',
            Delay: 0,
          })),
        }
      : null,
  });

describe('an allocation', () => {
  it.each(TABLE)('GC-18 EB-152: $client, to $desired, of a job $job, policy $policy: $collect', (given) => {
    expect(isCollectable(allocOf(given), jobOf(given), NOW, CUTOFF)).toBe(given.collect);
  });

  const limited = { client: 'failed', desired: 'run', policy: { Attempts: 5, minutes: 30 }, collect: true } as const;

  it('GC-19: the last event counts, not the newest', () => {
    expect(isCollectable(allocOf({ ...limited, events: [3, 60] }), jobOf(limited), NOW, CUTOFF)).toBe(true);
    expect(isCollectable(allocOf({ ...limited, events: [60, 3] }), jobOf(limited), NOW, CUTOFF)).toBe(false);
    expect(isCollectable(allocOf({ ...limited, events: [30] }), jobOf(limited), NOW, CUTOFF)).toBe(false);
  });

  it('GC-20: the policy is that of the job as it is now, by the name of the group', () => {
    const alloc = { ...allocOf({ ...limited, events: [3] }), Job: jobOf({ ...limited, policy: { Attempts: 0 } })! };
    expect(isCollectable(alloc, jobOf(limited), NOW, CUTOFF)).toBe(false);
    expect(isCollectable({ ...alloc, TaskGroup: 'former' }, jobOf(limited), NOW, CUTOFF)).toBe(true);
  });

  it('GC-21: one nobody hears of stays, however old, while it is to run', () => {
    const unknown = allocOf({ client: 'unknown', desired: 'run', collect: false });
    expect(isCollectable({ ...unknown, ModifyTime: 0 }, undefined, NOW, CUTOFF)).toBe(false);
  });

  it('GC-13 GC-14, ST-166: as old as the cutoff is old enough, and so is a record without a time', () => {
    const done = allocOf({ client: 'complete', desired: 'run', collect: true });
    for (const [ModifyTime, collect] of [
      [CUTOFF, true],
      [CUTOFF + 1000, false],
      [0, true],
    ] as const)
      expect(isCollectable({ ...done, ModifyTime }, undefined, NOW, CUTOFF)).toBe(collect);
  });

  it('GC-26 GC-99: a result of an older specification goes, but not while its task is up', () => {
    const job = { ...fixtures.aJob(), JobModifyIndex: 100 };
    const old = { ...allocOf({ client: 'complete', desired: 'run', collect: true }), CreateIndex: 99 };
    expect(isFormerResult(old, job, CUTOFF)).toBe(true);
    expect(isFormerResult({ ...old, CreateIndex: 100 }, job, CUTOFF)).toBe(false);
    expect(isFormerResult({ ...old, ModifyTime: NOW }, job, CUTOFF)).toBe(false);
    expect(isFormerResult({ ...old, Job: { ...job, JobModifyIndex: 50 } }, job, CUTOFF)).toBe(true);
    expect(isFormerResult({ ...old, Job: job }, job, CUTOFF)).toBe(false); // updated in place
    expect(isFormerResult({ ...old, ClientStatus: 'pending' }, job, CUTOFF)).toBe(false);
    const stopping = { ...old, DesiredStatus: 'stop', ClientStatus: 'running' } as const;
    expect(isFormerResult(stopping, job, CUTOFF)).toBe(false);
  });
});
