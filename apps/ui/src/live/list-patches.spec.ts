import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import type { Allocation, AllocListStub } from '../api/contract.js';
import { nameOf, type QueryKey } from './affected-queries.js';
import type { Change } from './change.js';
import { ListPatches } from './list-patches.js';
import { patchedList } from './patched-lists.js';

const LIST: QueryKey = ['job-allocations', 'default', 'web'];

const row = (ID: string, over: Partial<AllocListStub> = {}) =>
  ({
    ID,
    JobVersion: 3,
    ClientStatus: 'pending',
    ClientDescription: 'waits',
    ModifyIndex: 10,
    ...over,
  }) as AllocListStub;

const alloc = (ID: string, over: Partial<Allocation> = {}) =>
  ({
    ID,
    Namespace: 'default',
    JobID: 'web',
    DesiredStatus: 'run',
    ClientStatus: 'running',
    ModifyIndex: 11,
    ...over,
  }) as Allocation;

const change = (Allocation: Allocation, type = 'AllocationUpdated'): Change => ({
  index: Allocation.ModifyIndex ?? 0,
  topic: 'Allocation',
  type,
  key: Allocation.ID,
  namespace: 'default',
  filterKeys: ['web'],
  payload: { Allocation },
});

/** A browser's cache with one list, and a clock that the test moves. */
function cached(rows: readonly AllocListStub[]) {
  const queries = new QueryClient();
  queries.setQueryData([...LIST], rows);
  const reread: string[] = [];
  const timers: (() => void)[] = [];
  const patches = new ListPatches(
    queries,
    (keys) => reread.push(...keys.map(nameOf)),
    (_, patch) => timers.push(patch),
  );
  return {
    queries,
    patches,
    reread,
    timers,
    pass: () => timers.splice(0).forEach((patch) => patch()),
    list: () => queries.getQueryData<readonly AllocListStub[]>([...LIST]),
  };
}

it('a change of one row changes that row, and leaves the others the same objects', () => {
  const [a, b] = [row('a'), row('b')];
  const patched = patchedList([a, b], new Map([['a', alloc('a')]]));
  expect(patched?.[0]).toMatchObject({
    ClientStatus: 'running',
    ClientDescription: '',
    JobVersion: 3,
    ModifyIndex: 11,
  });
  expect(patched?.[1]).toBe(b);
});

it('an older change does not undo a newer row', () => {
  const newer = row('a', { ModifyIndex: 12 });
  expect(patchedList([newer], new Map([['a', alloc('a')]]))?.[0]).toBe(newer);
});

it('a list without the row is read again', () => {
  expect(patchedList([row('a')], new Map([['z', alloc('z')]]))).toBeUndefined();
  const { patches, pass, reread } = cached([row('a')]);
  patches.add(change(alloc('z')));
  pass();
  expect(reread).toEqual([nameOf(LIST)]);
});

it('many changes are one patch, and the last of a row counts', () => {
  const { patches, pass, list, reread, timers } = cached([row('a'), row('b')]);
  expect(patches.add(change(alloc('a')))).toEqual([LIST]);
  patches.add(change(alloc('b')));
  patches.add(change(alloc('a', { ClientStatus: 'failed', ModifyIndex: 12 })));
  expect(timers).toHaveLength(1);
  expect(list()?.[0]?.ClientStatus).toBe('pending');
  pass();
  expect(list()?.map(({ ClientStatus }) => ClientStatus)).toEqual(['failed', 'running']);
  expect(reread).toEqual([]);
  patches.add(change(alloc('b', { ModifyIndex: 13 })));
  expect(timers).toHaveLength(1);
});

it('a plan may change what an event does not have, so its lists are read again', () => {
  const { patches, timers } = cached([row('a')]);
  expect(patches.add(change(alloc('a'), 'PlanResult'))).toEqual([]);
  expect(patches.add({ ...change(alloc('a')), topic: 'Job' })).toEqual([]);
  expect(timers).toHaveLength(0);
});

it('a list that no page shows is not patched, and one that is being read is read again', async () => {
  const { queries, patches, pass, reread, list } = cached([row('a')]);
  expect(patches.add(change(alloc('a', { JobID: 'other' })))).toEqual([]);
  let answer: (list: readonly AllocListStub[]) => void = () => {};
  const reading = queries.fetchQuery({
    queryKey: [...LIST],
    staleTime: 0,
    queryFn: () => new Promise<readonly AllocListStub[]>((resolve) => (answer = resolve)),
  });
  await Promise.resolve();
  patches.add(change(alloc('a')));
  pass();
  expect(reread).toEqual([nameOf(LIST)]);
  expect(list()?.[0]?.ClientStatus).toBe('pending');
  answer([row('a')]);
  await reading;
});
