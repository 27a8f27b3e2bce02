import { rfc3339FromMs } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { endedDrain, isForced, marksOfJob } from './drain-decisions.js';
import { Draining } from './draining.fixture.js';

const NOW_MS = 1_800_000_000_000;

it('DR-60, DR-61: a drain is forced from its deadline on, or at once if that is negative, never without one', () => {
  const forced = (Deadline: number, dueMs?: number) => {
    const ForceDeadline = dueMs === undefined ? null : rfc3339FromMs(dueMs);
    return isForced({ Deadline, ForceDeadline, IgnoreSystemJobs: false, StartedAt: rfc3339FromMs(0) }, NOW_MS);
  };
  expect([-1, 0, 1].map((laterMs) => forced(60e9, NOW_MS + laterMs))).toEqual([true, true, false]);
  expect([-1, 0, 1].map((deadline) => forced(deadline))).toEqual([true, false, false]);
});

describe('the end of a drain', () => {
  it('DR-60: marks what has neither ended nor been marked', async () => {
    const d = new Draining();
    const draining = await d.node();
    const job = await d.job(3);
    const [fresh, marked, ended] = await d.place(job, draining, 3);
    const change = { Migrate: true, MigrateDisablePlacement: null };
    const row = d.state.tables.allocs.get(marked!.ID)!;
    d.state.tables.allocs.replace(row.ID, { ...row, DesiredTransition: { ...row.DesiredTransition, ...change } });
    await d.report(ended!, 'complete');
    expect(endedDrain(d.state.tables, d.stored(draining), true)).toBeUndefined();
    await d.drain(draining);
    expect(endedDrain(d.state.tables, d.stored(draining), false)).toBeUndefined();
    const end = endedDrain(d.state.tables, d.stored(draining), true);
    expect([end?.deadlineReached, end?.marked.map(({ ID }) => ID)]).toEqual([true, [fresh!.ID]]);
  });

  it('DR-30: an allocation whose job is gone is waited for like another', async () => {
    const d = new Draining();
    const draining = await d.node();
    const [alloc] = await d.place(await d.job(1), draining);
    await d.drain(draining);
    const orphan = { ...d.state.tables.allocs.get(alloc!.ID)!, Job: null, JobID: 'gone' };
    d.state.tables.allocs.replace(orphan.ID, orphan);
    expect(endedDrain(d.state.tables, d.stored(draining), false)).toBeUndefined();
    d.state.tables.allocs.replace(orphan.ID, { ...orphan, ClientStatus: 'complete' });
    expect(endedDrain(d.state.tables, d.stored(draining), false)).toMatchObject({ marked: [] });
  });
});

it('DR-40: allocations of a group that its job no longer has move all at once', async () => {
  const d = new Draining();
  const draining = await d.node();
  const job = await d.job(3);
  await d.place(job, draining, 3);
  await d.drain(draining);
  await d.job(3, 1, { ID: job.ID, TaskGroups: [fixtures.aGroup({ Name: 'other' })] });
  expect(marksOfJob(d.state.tables, job.Namespace, job.ID).marked).toHaveLength(3);
});
