import type { Allocation, DisconnectStrategy, TaskState } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { chainOf, prefersReplacement, resolveReconnecting } from './reconnect.js';

const { aGroup, aJob, anAlloc, aTask } = fixtures;
const NOW_NS = fixtures.timeNs;

const strategy = (Reconcile: string): DisconnectStrategy =>
  ({ Replace: true, Reconcile, LostAfter: 3_600e9, StopOnClientAfter: null }) as DisconnectStrategy;
const jobWith = (Reconcile: string, leader = false) =>
  aJob({
    TaskGroups: [
      aGroup({
        Disconnect: strategy(Reconcile),
        Tasks: [aTask({ Name: 'web', Leader: leader }), aTask({ Name: 'side' })],
      }),
    ],
  });
const scored = (...scores: number[]): Pick<Allocation, 'Metrics'> => ({
  Metrics: { ScoreMetaData: scores.map((NormScore) => ({ NodeID: '', Scores: {}, NormScore })) } as never,
});
const started = (tasks: Record<string, Partial<TaskState>>): Pick<Allocation, 'TaskStates'> => ({
  TaskStates: tasks as Record<string, TaskState>,
});
const at = (second: number): string => new Date(NOW_NS / 1e6 + second * 1_000).toISOString();

describe('an original that reconnects, and its replacement', () => {
  const prefers = (reconcile: string, was: Partial<Allocation>, is: Partial<Allocation>, leader = false) => {
    const Job = jobWith(reconcile, leader);
    const running = { Job, ClientStatus: 'running' } as const;
    return prefersReplacement(anAlloc({ ...running, ...was }), anAlloc({ ...running, ...is }));
  };

  it('the strategy may say it once and for all', () => {
    expect(prefers('keep_original', scored(1), scored(9))).toBe(false);
    expect(prefers('keep_replacement', scored(9), scored(1))).toBe(true);
  });

  it('an original of an older job loses, whatever the strategy', () => {
    const newer = { ...jobWith('keep_original'), JobModifyIndex: 9, Version: 1 };
    expect(prefers('keep_original', {}, { Job: newer })).toBe(true);
  });

  it.each([
    [[1], [2], true],
    [[2], [1], false],
    [[1], [1], false],
    [[], [1], true],
    [[1], [], false],
    [[], [], false],
    [[1, 5], [4, 2], false],
    [[1, 5], [6, 2], true],
  ])('the best score decides, and of equals the original: %j against %j: %s', (was, is, replaced) => {
    expect(prefers('best_score', scored(...was), scored(...is))).toBe(replaced);
  });

  it('a better replacement that does not run yet is no reason to end an original that runs', () => {
    const pending = { ...scored(9), ClientStatus: 'pending' } as const;
    expect(prefers('best_score', scored(1), pending)).toBe(false);
    expect(prefers('best_score', { ...scored(1), ClientStatus: 'pending' }, pending)).toBe(true);
  });

  it('SC-188: the one that ran longest stays: by its leader, else by the task that started first', () => {
    const start = (web: number, side: number) =>
      started({ web: { StartedAt: at(web) }, side: { StartedAt: at(side) } });
    expect(prefers('longest_running', start(1, 9), start(2, 5))).toBe(false);
    expect(prefers('longest_running', start(9, 3), start(4, 2))).toBe(true);
    expect(prefers('longest_running', start(2, 2), start(2, 2))).toBe(true);
    expect(prefers('longest_running', start(5, 1), start(4, 9), true)).toBe(true);
    expect(prefers('longest_running', start(4, 9), start(5, 1), true)).toBe(false);
  });

  it('SC-188: a restart counts as the start; one that never started ran less, and without any start the scores decide', () => {
    const restarted = started({ web: { StartedAt: at(1), LastRestart: at(8) } });
    const plain = started({ web: { StartedAt: at(5), LastRestart: null } });
    expect(prefers('longest_running', restarted, plain)).toBe(true);
    const never = started({ web: { StartedAt: null, LastRestart: null } });
    expect([prefers('longest_running', never, plain), prefers('longest_running', plain, never)]).toEqual([true, false]);
    expect(prefers('longest_running', { ...never, ...scored(1) }, { ...never, ...scored(2) })).toBe(true);
    expect(prefers('longest_running', { ...never, ...scored(2) }, { ...never, ...scored(1) })).toBe(false);
  });
});

describe('chains of replacements', () => {
  const chain = (...links: [id: string, next: string][]) =>
    new Map(links.map(([ID, NextAllocation]) => [ID, anAlloc({ ID, NextAllocation })]));

  it('SC-180: each replacement and its own, as far as they are stored; a circle ends where it repeats', () => {
    const ids = (stored: Map<string, Allocation>) => chainOf(stored.get('a')!, stored).map(({ ID }) => ID);
    expect(ids(chain(['a', 'b'], ['b', 'c'], ['c', 'gone']))).toEqual(['b', 'c']);
    expect(ids(chain(['a', 'b'], ['b', 'c'], ['c', 'b']))).toEqual(['b', 'c']);
    expect(ids(chain(['a', 'a']))).toEqual([]);
    expect(ids(chain(['a', '']))).toEqual([]);
  });
});

describe('who of those that reconnect stays', () => {
  const job = jobWith('best_score');
  const resolve = (original: Partial<Allocation>, ...replacements: Partial<Allocation>[]) => {
    const base = { Job: job, ClientStatus: 'running' } as const;
    const made = replacements.map((over, i) =>
      anAlloc({ ID: `r${i}`, ...base, NextAllocation: `r${i + 1}`, ...scored(1), ...over }),
    );
    const first = anAlloc({ ID: 'o', ...base, NextAllocation: 'r0', ...scored(5), ...original });
    const stored = new Map([first, ...made].map((alloc) => [alloc.ID, alloc]));
    const { kept, stops } = resolveReconnecting([first], stored, job, NOW_NS);
    return { kept: kept.map(({ ID }) => ID), stopped: stops.map(({ alloc }) => alloc.ID), stops };
  };

  it('SC-180, SC-182: the original stays and every replacement that still lives ends', () => {
    expect(resolve({}, {}, { DesiredStatus: 'stop' }, {})).toMatchObject({ kept: ['o'], stopped: ['r0', 'r2'] });
    expect(resolve({})).toMatchObject({ kept: ['o'], stopped: [] });
  });

  it('SC-182: one better replacement of several ends the original alone', () => {
    expect(resolve({}, {}, scored(9))).toMatchObject({ kept: [], stopped: ['o'] });
    expect(resolve({}, { ...scored(9), DesiredStatus: 'stop' })).toMatchObject({ kept: ['o'], stopped: [] });
  });

  it('SC-182: an original that failed meanwhile ends as failed, with a state that says so', () => {
    const { stopped, stops } = resolve({ ClientStatus: 'failed' }, {});
    expect(stopped).toEqual(['o']);
    expect(stops[0]).toMatchObject({ clientStatus: 'failed', appendStates: [{ Field: 0, Value: 'failed' }] });
  });

  it.each<[string, Partial<Allocation>]>([
    ['it is to migrate', { DesiredTransition: { ...anAlloc().DesiredTransition, Migrate: true } }],
    ['it is to be rescheduled', { DesiredTransition: { ...anAlloc().DesiredTransition, Reschedule: true } }],
    ['it must be rescheduled', { DesiredTransition: { ...anAlloc().DesiredTransition, ForceReschedule: true } }],
    ['it was told to stop', { DesiredStatus: 'stop' }],
    ['it is of an older job', { Job: { ...job, Version: -1, JobModifyIndex: -1 } }],
  ])('SC-182: an original cannot stay when %s', (_why, over) => {
    const { kept, stopped, stops } = resolve(over, {});
    expect([kept, stopped]).toEqual([[], ['o']]);
    expect(stops[0]).not.toHaveProperty('clientStatus');
  });
});
