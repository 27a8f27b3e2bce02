import { expect, it } from 'vitest';
import { fixtures } from './fixtures.js';
import { shareAllocationJobs } from './shared-jobs.js';

it('allocations of one version share it after a snapshot, those of another do not, and no content changes', () => {
  const { tables } = fixtures.aMachine();
  const job = fixtures.aJob({ CreateIndex: 2, ModifyIndex: 2 });
  const allocs = [job, { ...job }, { ...job, Version: 1 }, null].map((Job) => fixtures.anAlloc({ Job }));
  for (const alloc of allocs) tables.allocs.replace(alloc.ID, alloc);
  shareAllocationJobs(tables);
  const [first, second, other, none] = allocs.map((alloc) => tables.allocs.get(alloc.ID));
  expect(second?.Job).toBe(first?.Job);
  expect(other?.Job).not.toBe(first?.Job);
  expect([first, second, other, none]).toEqual(allocs);
  expect([...tables.allocs.by('job', 'default/web')]).toContain(second);
});
