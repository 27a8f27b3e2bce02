import { nsFromMs, type Job } from '@waybill/model';
import { fixtures, stateDigest } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { dryRun, MAX_DRY_RUN_PLACEMENTS } from './dry-run.js';
import { MAX_PLACEMENTS_PER_PLAN } from './plan-draft.js';
import { SchedulingFixture } from './scheduling.fixture.js';

const { aGroup, aJob, aTask } = fixtures;

const web = (over: Partial<Job> = {}, count = 2, task: Parameters<typeof aTask>[0] = {}): Job =>
  aJob({ TaskGroups: [aGroup({ Count: count, Tasks: [aTask(task)] })], ...over });

function cluster(nodes = 2): SchedulingFixture {
  const fixture = new SchedulingFixture();
  for (let i = 0; i < nodes; i++) fixture.addNode();
  return fixture;
}

function plan(fixture: SchedulingFixture, job: Job) {
  const before = stateDigest(fixture.state);
  const { nowMs, newId } = fixture;
  const answer = dryRun(fixture.state, { Job: job, Diff: true }, { nowNs: nsFromMs(nowMs), newId });
  expect(stateDigest(fixture.state)).toBe(before); // ST-145
  return { answer, desired: answer.Annotations.DesiredTGUpdates['web']!, diff: answer.Diff! };
}

describe('a dry run', () => {
  it('SC-302 API-142 ST-145: of a new job, with what it would place; nothing of it stays', () => {
    const fixture = cluster();
    const { answer, desired, diff } = plan(fixture, web());
    expect(desired).toMatchObject({ Place: 2, Stop: 0, Ignore: 0 });
    expect(answer).toMatchObject({ JobModifyIndex: 0, FailedTGAllocs: {}, Index: fixture.state.appliedIndex });
    expect(diff).toMatchObject({ Type: 'Added', TaskGroups: [{ Type: 'Added', Updates: { create: 2 } }] });
    expect(diff.TaskGroups[0]!.Tasks[0]!.Annotations).toEqual(['forces create']);
  });

  it('SC-302: of an unchanged job there is a plan too, although there is nothing to do', () => {
    const fixture = cluster();
    const stored = fixture.register(web());
    fixture.run();
    const { answer, desired, diff } = plan(fixture, web());
    expect(desired).toMatchObject({ Ignore: 2, Place: 0, InPlaceUpdate: 0, DestructiveUpdate: 0 });
    expect(answer.JobModifyIndex).toBe(stored.JobModifyIndex);
    expect(diff).toMatchObject({ Type: 'None', TaskGroups: [{ Type: 'None', Updates: { ignore: 2 } }] });
  });

  it('SC-302 SC-304 DP-127: with the submitted version: what it replaces, adds and updates in place', () => {
    const fixture = cluster();
    fixture.register(web());
    fixture.run();
    fixture.allRunHealthy();
    const replaced = plan(fixture, web({}, 2, { Env: { A: '1' } }));
    expect(replaced.desired).toMatchObject({ DestructiveUpdate: 1, Ignore: 1 });
    expect(replaced.diff.TaskGroups[0]!.Updates).toEqual({ 'create/destroy update': 1, ignore: 1 });
    const grown = plan(fixture, web({}, 3));
    expect(grown.desired).toMatchObject({ Place: 1, InPlaceUpdate: 2 });
    expect(grown.diff.TaskGroups[0]).toMatchObject({
      Fields: [{ Name: 'Count', Old: '2', New: '3', Annotations: ['forces create'] }],
      Updates: { create: 1, 'in-place update': 2 },
    });
  });

  it('API-143: what finds no place is told with its reasons', () => {
    const { answer } = plan(cluster(1), web({}, 3, { Driver: 'exotic' }));
    expect(answer.FailedTGAllocs['web']).toMatchObject({ NodesEvaluated: 1, NodesFiltered: 1, CoalescedFailures: 2 });
    expect(answer.CreatedEvals).toMatchObject([
      { Status: 'blocked', TriggeredBy: 'queued-allocs', JobID: 'web', FailedTGAllocs: { web: { NodesFiltered: 1 } } },
    ]);
  });

  it('API-143: whom it would preempt', () => {
    const fixture = cluster(1);
    const cpu = (CPU: number) => ({ Resources: { ...aTask().Resources, CPU } });
    fixture.register(web({ ID: 'low', Priority: 10 }, 1, cpu(3_000)));
    fixture.run({ JobID: 'low' });
    const [low] = fixture.allocs();
    const { answer, desired } = plan(fixture, web({ Priority: 90 }, 1, cpu(3_000)));
    expect(desired.Preemptions).toBe(1);
    expect(answer.Annotations.PreemptedAllocs?.map(({ ID }) => ID)).toEqual([low!.ID]);
  });

  it('looks further than one plan goes', () => {
    expect(MAX_DRY_RUN_PLACEMENTS).toBeGreaterThan(MAX_PLACEMENTS_PER_PLAN);
    const { answer } = plan(cluster(1), web({}, MAX_PLACEMENTS_PER_PLAN + 1));
    const placed = MAX_PLACEMENTS_PER_PLAN + 1 - (answer.FailedTGAllocs['web']?.CoalescedFailures ?? 0) - 1;
    expect(placed).toBeLessThan(MAX_PLACEMENTS_PER_PLAN);
  });

  it('ST-50: what would be refused is refused', () => {
    expect(() => plan(cluster(), web({ NodePool: 'none' }))).toThrow('nonexistent node pool');
  });
});
