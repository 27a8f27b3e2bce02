import { NS_PER_MINUTE, type Allocation, type Job, type ReschedulePolicy } from '@waybill/model';
import { fixtures, StateMachine, type Tables } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { collectableEvaluations, isCollectable } from './collectable.js';

const NOW = 1_767_225_600_000 * 1e6;
const OLD = NOW - 120 * NS_PER_MINUTE;
const CUTOFF = NOW - 60 * NS_PER_MINUTE;
const CUTOFFS = { evaluationNs: CUTOFF, batchNs: CUTOFF };

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

/** The truth table of the collector's reference (3.3): all old, of a running job, unless it says otherwise. */
const TABLE: readonly Case[] = [
  { client: 'pending', desired: 'run', collect: false },
  { client: 'pending', desired: 'run', job: 'stopped', collect: false },
  { client: 'pending', desired: 'run', job: 'dead', collect: false },
  { client: 'running', desired: 'stop', job: 'dead', collect: false },
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
  it.each(TABLE)('EB-152: $client, to $desired, of a job $job: $collect', (given) => {
    expect(isCollectable(allocOf(given), jobOf(given), NOW, CUTOFF)).toBe(given.collect);
  });
});

describe('evaluations', () => {
  let tables: Tables;

  beforeEach(() => {
    const state = new StateMachine();
    fixtures.apply(state, 'Initialise', {});
    tables = state.tables;
  });

  const put = (given: {
    readonly job?: Partial<Job> | null;
    readonly type?: string;
    readonly allocs?: readonly Partial<Allocation>[];
    readonly status?: 'complete' | 'blocked';
  }): void => {
    const job =
      given.job === null ? undefined : fixtures.aJob({ JobModifyIndex: 100, Status: 'running', ...given.job });
    if (job) tables.jobs.replace(`default/${job.ID}`, job);
    const evaluation = fixtures.anEval({
      Type: given.type ?? 'service',
      Status: given.status ?? 'complete',
      ModifyTime: OLD,
    });
    tables.evals.replace(evaluation.ID, evaluation);
    for (const over of given.allocs ?? []) {
      const alloc = fixtures.anAlloc({ EvalID: evaluation.ID, ModifyTime: OLD, ...over });
      tables.allocs.replace(alloc.ID, alloc);
    }
  };
  const found = (): { evals: number; allocs: string[] } => {
    const { evalIds, allocIds } = collectableEvaluations(tables, NOW, CUTOFFS);
    return { evals: evalIds.length, allocs: allocIds.map((id) => tables.allocs.get(id)!.Name).toSorted() };
  };
  const done = (Name: string, over: Partial<Allocation> = {}): Partial<Allocation> => ({
    Name,
    ClientStatus: 'complete',
    DesiredStatus: 'run',
    ...over,
  });

  it('EB-152: one goes with the last of its allocations, and they go before it', () => {
    put({ allocs: [done('a'), done('b', { ClientStatus: 'running' })] });
    expect(found()).toEqual({ evals: 0, allocs: ['a'] });
    put({ allocs: [done('c'), done('d')] });
    expect(found()).toEqual({ evals: 1, allocs: ['a', 'c', 'd'] });
  });

  it('EB-152: what is still to be done stays with all that it has', () => {
    put({ status: 'blocked', allocs: [done('a')] });
    expect(found()).toEqual({ evals: 0, allocs: [] });
  });

  it('EB-152: of a batch job that may run again only what older versions left', () => {
    put({ type: 'batch', allocs: [done('current', { CreateIndex: 101 }), done('older', { CreateIndex: 99 })] });
    expect(found()).toEqual({ evals: 0, allocs: ['older'] });
    put({ type: 'batch', allocs: [done('all of it older', { CreateIndex: 98 })] });
    expect(found()).toEqual({ evals: 1, allocs: ['all of it older', 'older'] });
  });

  it('EB-152: a batch job that is dead but not stopped may run again', () => {
    put({ type: 'batch', job: { Status: 'dead' }, allocs: [done('current', { CreateIndex: 101 })] });
    expect(found()).toEqual({ evals: 0, allocs: [] });
  });

  it.each([
    ['is stopped and dead', { Status: 'dead', Stop: true } as const],
    ['is gone', null],
  ])('EB-152: a batch job that %s keeps nothing', (_why, job) => {
    put({ type: 'batch', job, allocs: [done('current', { CreateIndex: 101 })] });
    expect(found()).toEqual({ evals: 1, allocs: ['current'] });
  });
});
