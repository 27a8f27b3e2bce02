import { namespacedKey } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { completionBatches, markBatches } from './drain-batches.js';
import { endedDrain } from './drain-decisions.js';
import { Draining } from './draining.fixture.js';

describe('transactions of a round', () => {
  it('DR-72: a full one ends, and each carries the evaluations of the jobs that it marks', async () => {
    const d = new Draining();
    const draining = await d.node();
    const jobs = [await d.job(3), await d.job(5)];
    for (const job of jobs) await d.place(job, draining, job.TaskGroups[0]!.Count);
    let ids = 0;
    const batches = markBatches(d.state.tables, d.allocs(), { nowMs: 0, newId: () => `e${ids++}`, maxIds: 5 });
    for (const { Transitions, Evals } of batches) {
      expect(Object.keys(Transitions).length + Evals.length).toBeLessThanOrEqual(5);
      const marked = new Set(Object.keys(Transitions).map((id) => d.state.tables.allocs.get(id)!));
      expect(new Set(Evals.map((e) => namespacedKey(e.Namespace, e.JobID)))).toEqual(
        new Set([...marked].map((a) => namespacedKey(a.Namespace, a.JobID))),
      );
    }
    expect(batches.flatMap((batch) => Object.keys(batch.Transitions))).toHaveLength(8);
  });

  it.each([
    [5, [3, 4, 1], [1, 1, 1]],
    [6, [4, 4], [2, 1]],
    [10, [8], [2]],
    [9, [7, 1], [2, 1]],
  ])('DR-72: of eight allocations of two jobs, %d IDs fit into one', async (maxIds, marks, evaluations) => {
    const d = new Draining();
    const draining = await d.node();
    const jobs = [await d.job(3), await d.job(5)];
    for (const job of jobs) await d.place(job, draining, job.TaskGroups[0]!.Count);
    const allocs = jobs.flatMap((job) => d.allocs(job));
    const batches = markBatches(d.state.tables, allocs, { nowMs: 0, newId: () => 'e', maxIds });
    expect(batches.map(({ Transitions }) => Object.keys(Transitions).length)).toEqual(marks);
    expect(batches.map(({ Evals }) => Evals.length)).toEqual(evaluations);
    expect(batches.flatMap(({ Transitions }) => Object.keys(Transitions))).toEqual(allocs.map(({ ID }) => ID));
  });

  it('DR-72: an allocation whose job is gone is in no transaction, and the others are', async () => {
    const d = new Draining();
    const draining = await d.node();
    const job = await d.job(2);
    await d.place(job, draining, 2);
    const [orphan, other] = d.allocs();
    const allocs = [{ ...orphan!, JobID: 'gone', Job: null }, other!];
    const batches = markBatches(d.state.tables, allocs, { nowMs: 0, newId: () => 'e' });
    expect(batches.map(({ Transitions }) => Object.keys(Transitions))).toEqual([[other!.ID]]);
    expect(batches[0]?.Evals.map(({ JobID }) => JobID)).toEqual([job.ID]);
  });

  it('DR-73: completions are split the same way', async () => {
    const d = new Draining();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await d.node());
    for (const id of ids) await d.drain(id);
    const ended = ids.map((id) => endedDrain(d.state.tables, d.stored(id), false)!);
    const batches = completionBatches(ended, d.time.nowMs(), 2);
    expect(batches.map((batch) => Object.keys(batch.Updates))).toEqual([
      ids.slice(0, 2),
      ids.slice(2, 4),
      ids.slice(4),
    ]);
    expect(batches.map((batch) => Object.keys(batch.NodeEvents).length)).toEqual([2, 2, 1]);
    expect(completionBatches(ended, d.time.nowMs(), 5)).toHaveLength(1);
    expect(completionBatches([], d.time.nowMs())).toEqual([]);
  });
});
