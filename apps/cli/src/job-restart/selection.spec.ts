import { describe, expect, it } from 'vitest';
import { ordinal } from '../terminal/ordinal.js';
import {
  allocationsPerBatch,
  batchesOf,
  isSystemAllocation,
  type JobVersion,
  type ListedAllocation,
  selectAllocations,
} from './selection.js';

const NOTHING = { groups: new Set<string>(), tasks: new Set<string>() };

const alloc = (ID: string, other: Partial<ListedAllocation> = {}): ListedAllocation => ({
  ID,
  JobVersion: 0,
  TaskGroup: 'web',
  DesiredStatus: 'run',
  ClientStatus: 'running',
  CreateIndex: 1,
  NextAllocation: '',
  TaskStates: null,
  ...other,
});
const reports = (...tasks: string[]) =>
  ({ TaskStates: Object.fromEntries(tasks.map((task) => [task, {}])) }) as unknown as Partial<ListedAllocation>;
const version = (Version: number, group: string, ...tasks: string[]): JobVersion => ({
  Version,
  Type: 'service',
  TaskGroups: [{ Name: group, Tasks: tasks.map((Name) => ({ Name })) }],
});

describe('which allocations', () => {
  it.each([
    ['run', 'running', '', true],
    ['run', 'running', 'next', false],
    ['run', 'complete', '', true],
    ['run', 'complete', 'next', false],
    ['run', 'pending', '', true],
    ['stop', 'running', '', true],
    ['stop', 'running', 'next', false],
    ['stop', 'complete', '', false],
    ['stop', 'complete', 'next', false],
  ] as const)('JR-301, JR-302: desired %s, client %s, replaced by "%s": kept %s', (desired, client, next, kept) => {
    const one = alloc('a', { DesiredStatus: desired, ClientStatus: client, NextAllocation: next });
    expect(selectAllocations([one], [], NOTHING).eligible).toHaveLength(kept ? 1 : 0);
  });

  it('JR-309: the newest first', () => {
    const allocs = [
      alloc('old', { CreateIndex: 3 }),
      alloc('new', { CreateIndex: 9 }),
      alloc('mid', { CreateIndex: 5 }),
    ];
    const { eligible } = selectAllocations(allocs, [], NOTHING);
    expect(eligible.map((one) => one.alloc.ID)).toEqual(['new', 'mid', 'old']);
  });

  it('JR-303, JR-306: groups; a task in another group matches nothing', () => {
    const allocs = [
      alloc('a', { TaskGroup: 'web', ...reports('main') }),
      alloc('b', { TaskGroup: 'db', ...reports('pg') }),
    ];
    const kept = (groups: string[], tasks: string[]) =>
      selectAllocations(allocs, [], { groups: new Set(groups), tasks: new Set(tasks) });
    expect(kept(['db', 'gone'], []).eligible.map((one) => one.alloc.ID)).toEqual(['b']);
    expect(kept(['db'], ['pg']).eligible.map((one) => one.alloc.ID)).toEqual(['b']);
    expect(kept(['db'], ['main']).skipped.map(({ because }) => because)).toEqual(['other-group', 'no-such-task']);
  });

  it('JR-304, JR-305: a task is there when it is reported, else when its own version of the job has it', () => {
    const versions = [version(1, 'web', 'main', 'new'), version(0, 'web', 'main')];
    const allocs = [
      alloc('reported', reports('new')),
      alloc('its own', { JobVersion: 1 }),
      alloc('older', { JobVersion: 0 }),
      alloc('other group', { JobVersion: 1, TaskGroup: 'db' }),
    ];
    const { eligible } = selectAllocations(allocs, versions, { ...NOTHING, tasks: new Set(['new']) });
    expect(eligible.map((one) => one.alloc.ID)).toEqual(['reported', 'its own']);
  });

  it('JR-E01: a version that is gone, or has null members, is no crash', () => {
    const odd: JobVersion[] = [
      { Version: 1, Type: null, TaskGroups: null },
      { Version: 2, TaskGroups: [{ Name: null, Tasks: null }] },
    ];
    const allocs = [1, 2, 7].map((JobVersion) => alloc(`v${JobVersion}`, { JobVersion }));
    expect(selectAllocations(allocs, odd, { ...NOTHING, tasks: new Set(['main']) }).eligible).toEqual([]);
    expect(selectAllocations(allocs, odd, { ...NOTHING, groups: new Set(['web']) }).eligible).toHaveLength(3);
  });

  it.each([
    ['system', 'service', 'service', true],
    ['service', 'system', 'system', false],
    [null, 'system', 'service', true],
    [undefined, 'system', 'service', true],
    [undefined, '', 'system', true],
    [undefined, undefined, undefined, false],
  ])('JR-604: version of type %s, listed as %s, now %s: system %s', (type, listed, now, system) => {
    const job: JobVersion | undefined = type === undefined ? undefined : { Version: 0, Type: type };
    const one = listed === undefined ? alloc('a') : alloc('a', { JobType: listed });
    expect(isSystemAllocation({ alloc: one, job }, now)).toBe(system);
  });
});

describe('batches', () => {
  it.each([
    [50, 3],
    [10, 1],
    [100, 5],
    [150, 8],
  ])('JR-401: %i percent of five are %i', (percent, size) => {
    expect(allocationsPerBatch({ percent }, 5)).toBe(size);
  });

  it('JR-402, JR-E03: percent of those that are left: of ten, five replaced, 50 percent are batches of 3 and 2', () => {
    const allocs = Array.from({ length: 10 }, (_, i) => alloc(`a${i}`, { NextAllocation: i % 2 ? 'next' : '' }));
    const { eligible } = selectAllocations(allocs, [], NOTHING);
    const batches = batchesOf(eligible, allocationsPerBatch({ percent: 50 }, eligible.length));
    expect(batches.map((batch) => batch.length)).toEqual([3, 2]);
  });

  it('JR-901: ordinals', () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111].map(ordinal).join(' ')).toBe(
      '1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 101st 111th',
    );
  });
});
