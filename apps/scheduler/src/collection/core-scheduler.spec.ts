import { coreEvaluation, SimulatedTime, type CoreTask, type Evaluation } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { batchesOf, runCoreTask, UnknownCoreTaskError, type ReapBatch } from './core-scheduler.js';
import { SchedulingFixture } from './scheduling.fixture.js';
import { fixtures } from '@waybill/state';

const MINUTE_MS = 60_000;

let time: SimulatedTime;
let world: SchedulingFixture;
let reaped: ReapBatch[];

beforeEach(() => {
  time = new SimulatedTime();
  world = new SchedulingFixture();
  reaped = [];
});

const core = (JobID: string): Evaluation => ({
  ...coreEvaluation('eval-gc', { id: 'core', index: 0, nowNs: 0, leaderAcl: '' }),
  JobID,
});
const run = (JobID: string): Promise<void> =>
  runCoreTask(core(JobID), {
    tables: world.state.tables,
    appliedIndex: world.state.appliedIndex,
    clock: time,
    reap: async (batch) => void reaped.push(batch),
  });
const ended = (ageMs: number, over: Partial<Evaluation> = {}): Evaluation => {
  const evaluation = fixtures.anEval({ Status: 'complete', ModifyTime: (time.nowMs() - ageMs) * 1e6, ...over });
  fixtures.apply(world.state, 'EvalUpdate', { Evals: [evaluation] });
  return evaluation;
};

describe('the core scheduler', () => {
  it('EB-150: an unknown task is an error that names it', async () => {
    await expect(run('paint-the-house')).rejects.toThrow(UnknownCoreTaskError);
    await expect(run('paint-the-house')).rejects.toThrow("core scheduler cannot handle job 'paint-the-house'");
  });

  it('EB-150: data may follow the name behind a colon', async () => {
    await expect(run('csi-volume-claim-gc:11111111')).resolves.toBeUndefined();
    await expect(run('eval-gcx')).rejects.toThrow(UnknownCoreTaskError);
  });

  it('EB-149: an evaluation that finds nothing asks for nothing', async () => {
    for (const task of ['eval-gc', 'job-gc', 'variables-rekey', 'force-gc'] satisfies CoreTask[]) await run(task);
    expect(reaped).toEqual([]);
  });

  it('EB-152: an hour for evaluations, a day for those of batch jobs, by what was applied when it looked', async () => {
    const old = ended(60 * MINUTE_MS);
    ended(60 * MINUTE_MS - 1);
    ended(23 * 60 * MINUTE_MS, { Type: 'batch', JobID: 'sum' });
    const oldBatch = ended(24 * 60 * MINUTE_MS, { Type: 'batch', JobID: 'sum' });
    await run('eval-gc');
    expect(reaped).toEqual([{ evalIds: [old.ID, oldBatch.ID], allocIds: [], scanIndex: world.state.appliedIndex }]);
  });

  it('EB-147: forced, a millisecond is old enough, and what has not ended stays', async () => {
    const young = ended(1);
    const batch = ended(1, { Type: 'batch', JobID: 'sum' });
    ended(0);
    ended(60 * MINUTE_MS, { Status: 'pending', JobID: 'other' });
    await run('force-gc');
    expect(reaped.flatMap((b) => b.evalIds).toSorted()).toEqual([young.ID, batch.ID].toSorted());
  });

  it('EB-153: requests of a limited size, allocations first', () => {
    const found = { allocIds: ['1', '2', '3'], evalIds: ['a', 'b', 'c'] };
    const inTwos = [...batchesOf(found, 2)].map((b) => [...b.allocIds, ...b.evalIds]);
    expect(inTwos).toEqual([
      ['1', '2'],
      ['3', 'a'],
      ['b', 'c'],
    ]);
    expect([...batchesOf({ allocIds: ['1', '2'], evalIds: ['a'] }, 2)]).toEqual([
      { allocIds: ['1', '2'], evalIds: [] },
      { allocIds: [], evalIds: ['a'] },
    ]);
    expect([...batchesOf({ allocIds: [], evalIds: [] }, 2)]).toEqual([]);
  });
});
