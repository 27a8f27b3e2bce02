import { SimulatedTime, type Clock } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { PAGE_MS, queuedPlacementsOf } from './queued-placements.js';
import { SchedulingFixture } from './scheduling.fixture.js';

let world: SchedulingFixture;

beforeEach(() => {
  world = new SchedulingFixture();
});

const ask = (after = '', clock: Clock = new SimulatedTime()) =>
  queuedPlacementsOf(world.state, after, { clock, newId: world.newId });
const ofCount = (ID: string, Count: number) => fixtures.aJob({ ID, TaskGroups: [fixtures.aGroup({ Count })] });
const waiting = (JobID: string, web: number) => ({ Namespace: 'default', JobID, Groups: { web } });

describe('what is queued', () => {
  it('GC-119: of a job of which nothing is placed, all of it', () => {
    world.register(ofCount('web', 10));
    expect(ask()).toEqual({ Queued: [waiting('web', 10)], Next: '' });
  });

  it('GC-118: what could be placed now counts too, and nothing stays of the dry run', () => {
    world.addNode();
    world.register(ofCount('web', 2));
    const before = [world.state.appliedIndex, world.state.tables.evals.size, world.state.tables.allocs.size];
    expect(ask().Queued).toEqual([waiting('web', 2)]);
    expect([world.state.appliedIndex, world.state.tables.evals.size, world.state.tables.allocs.size]).toEqual(before);
  });

  it('GC-114: not of a stopped job, and not of a parent', () => {
    world.register(ofCount('web', 2));
    world.stopJob('web');
    const ParameterizedJob = { Payload: '', MetaRequired: null, MetaOptional: null };
    world.register({ ...ofCount('cron', 2), Type: 'batch', ParameterizedJob });
    expect(ask()).toEqual({ Queued: [], Next: '' });
  });

  it('SC-26: not of a stopped system job, which wants nothing', () => {
    world.register(fixtures.aJob({ ID: 'logs', Type: 'system', TaskGroups: [fixtures.aGroup({}, 'system')] }));
    world.stopJob('logs');
    expect(ask().Queued).toEqual([]);
  });

  it('only what the summary does not say already', () => {
    world.register(ofCount('web', 2));
    world.register(ofCount('api', 0));
    const { Queued } = ask();
    fixtures.apply(world.state, 'ReconcileJobSummaries', { Queued: [...Queued] });
    expect(ask().Queued).toEqual([]);
    world.state.tables.job_summary.replace('default/api', undefined);
    expect(ask().Queued).toEqual([waiting('api', 0)]);
  });

  it('some at a time: it goes on behind the last one', () => {
    for (const id of ['a', 'b', 'c']) world.register(ofCount(id, 1));
    let now = 0;
    const slow: Clock = { nowMs: () => (now += PAGE_MS) };
    const first = ask('', slow);
    expect(first).toEqual({ Queued: [waiting('a', 1)], Next: 'default/a' });
    expect(ask(first.Next, slow).Queued).toEqual([waiting('b', 1)]);
    expect(ask('default/c', slow)).toEqual({ Queued: [], Next: '' });
  });
});
