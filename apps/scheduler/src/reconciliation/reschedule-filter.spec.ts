import {
  NO_TRANSITION,
  NS_PER_SECOND,
  type Allocation,
  type DesiredTransition,
  type TaskGroup,
  type TaskState,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { NOW_NS, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';
import { rescheduleVerdict, type RescheduleView } from './reschedule-filter.js';

const S = NS_PER_SECOND;
const policy = (Delay: number): Partial<TaskGroup> => ({
  ReschedulePolicy: { ...fixtures.aGroup().ReschedulePolicy!, Delay, DelayFunction: 'constant' },
});
const alloc = (over: Partial<Allocation> = {}, Delay = 30 * S): Allocation =>
  fixtures.anAlloc({
    Job: fixtures.aJob({ TaskGroups: [fixtures.aGroup(policy(Delay))] }),
    ClientStatus: 'failed',
    ModifyTime: NOW_NS,
    ...over,
  });
const view = (over: Partial<RescheduleView> = {}): RescheduleView => ({
  isBatch: false,
  evaluationId: 'this evaluation',
  nowNs: NOW_NS,
  activeDeploymentId: '',
  isWaitingCanary: () => false,
  isFinished: () => false,
  stored: new Map(),
  isComing: () => true,
  mayRewrite: () => true,
  ...over,
});
const wanted = (over: Partial<DesiredTransition>) => ({ DesiredTransition: { ...NO_TRANSITION, ...over } });
const kindOf = (one: Allocation, over: Partial<RescheduleView> = {}, leaving = false): string =>
  rescheduleVerdict(one, view(over), leaving).kind;

const noPlacement = (LastReschedule: string) => ({ RescheduleTracker: { Events: [], LastReschedule } });

const deadTask = (over: Partial<TaskState>): TaskState => ({
  State: 'dead',
  Failed: false,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt: null,
  Events: [],
  Paused: '',
  ...over,
});

describe('what an allocation wants of the reschedule block', () => {
  it('SC-164, SC-171: kept, now, later or dropped, by when it is due', () => {
    expect(kindOf(alloc({ ClientStatus: 'running' }))).toBe('keep');
    expect(kindOf(alloc({ ClientStatus: 'complete' }))).toBe('drop');
    expect(kindOf(alloc({}, S))).toBe('now');
    expect(kindOf(alloc({ FollowupEvalID: 'this evaluation' }))).toBe('now');
    expect(kindOf(alloc({ FollowupEvalID: 'another' }))).toBe('keep');
    expect(rescheduleVerdict(alloc(), view())).toEqual({ kind: 'later', atNs: NOW_NS + 30 * S });
  });

  it('SC-176: a follow-up that was deleted or superseded comes no more: there is another one', () => {
    const isComing = () => false;
    expect(kindOf(alloc({ FollowupEvalID: 'gone' }), { isComing })).toBe('later');
    expect(kindOf(alloc({ FollowupEvalID: 'gone' }, S), { isComing })).toBe('now');
  });

  it('SC-151: what found no place is due at the next evaluation, also when its follow-up came before its time', () => {
    const RescheduleTracker = { Events: [], LastReschedule: 'no placement' };
    expect(kindOf(alloc({ FollowupEvalID: 'another', RescheduleTracker }))).toBe('now');
    expect(
      kindOf(alloc({ FollowupEvalID: 'another', RescheduleTracker: { ...RescheduleTracker, LastReschedule: 'ok' } })),
    ).toBe('keep');
  });

  it('SC-165: one that is unknown already is not disconnected once more', () => {
    expect(kindOf(alloc({ ClientStatus: 'unknown' }), {}, true)).toBe('drop');
    expect(kindOf(alloc({ ClientStatus: 'running' }), {}, true)).toBe('later');
  });

  it('SC-166: with a successor it is done, but not while it runs', () => {
    const NextAllocation = fixtures.uuid(7);
    expect(kindOf(alloc({ NextAllocation }))).toBe('drop');
    expect(kindOf(alloc({ NextAllocation, ClientStatus: 'running', DesiredStatus: 'stop' }))).toBe('drop');
    expect(kindOf(alloc({ NextAllocation, ClientStatus: 'running' }))).toBe('keep');
  });

  describe('SC-167: batch', () => {
    const ran = (Failed: boolean): Partial<Allocation> => ({
      TaskStates: { web: deadTask({ Failed }) },
    });
    it.each([
      ['not to be placed again', wanted({ MigrateDisablePlacement: true }), 'keep'],
      ['complete, told to run elsewhere', { ...wanted({ Reschedule: true }), ClientStatus: 'complete' }, 'later'],
      ['stopped after it ran', { DesiredStatus: 'stop', ...ran(false) }, 'keep'],
      ['stopped after it failed', { DesiredStatus: 'stop', ...ran(true) }, 'drop'],
      ['evicted', { DesiredStatus: 'evict' }, 'drop'],
      ['failed', {}, 'later'],
      ['complete', { ClientStatus: 'complete' }, 'keep'],
    ] as const)('%s', (_, over, kind) => {
      const Job = { ...alloc().Job!, Type: 'batch' as const };
      expect(kindOf(alloc({ Job, ...(over as Partial<Allocation>) }), { isBatch: true })).toBe(kind);
    });
  });

  it.each([
    ['stopped', { DesiredStatus: 'stop' }, 'drop'],
    ['stopped when its replacement found no place', { DesiredStatus: 'stop', ...noPlacement('no placement') }, 'now'],
    ['stopped when its replacement was placed', { DesiredStatus: 'stop', ...noPlacement('ok') }, 'drop'],
    ['evicted', { DesiredStatus: 'evict' }, 'drop'],
    ['lost', { ClientStatus: 'lost' }, 'drop'],
    ['complete', { ClientStatus: 'complete' }, 'drop'],
    ['pending', { ClientStatus: 'pending' }, 'keep'],
  ] as const)('SC-167: service: %s', (_, over, kind) => {
    expect(kindOf(alloc(over as Partial<Allocation>))).toBe(kind);
  });

  it('SC-313: one that no plan may rewrite is replaced now, because no follow-up can be named', () => {
    expect(kindOf(alloc(), { mayRewrite: () => false })).toBe('now');
    expect(kindOf(alloc({ ClientStatus: 'running' }), { mayRewrite: () => false }, true)).toBe('later');
  });

  it('SC-168: what belongs to an active deployment waits for whoever watches it', () => {
    const DeploymentID = fixtures.uuid(3);
    expect(kindOf(alloc({ DeploymentID }), { activeDeploymentId: DeploymentID })).toBe('keep');
    const told = { DeploymentID, ...wanted({ Reschedule: true }) };
    expect(kindOf(alloc(told), { activeDeploymentId: DeploymentID })).toBe('later');
    expect(kindOf(alloc({ DeploymentID }), { activeDeploymentId: fixtures.uuid(4) })).toBe('later');
  });

  it('SC-169: forced, whatever the policy; without effect on what still runs', () => {
    const force = wanted({ ForceReschedule: true });
    const never = alloc(force);
    never.Job!.TaskGroups[0]!.ReschedulePolicy = null;
    expect(kindOf(never)).toBe('now');
    expect(kindOf(alloc({ ...force, ClientStatus: 'running' }))).toBe('keep');
  });

  it('SC-178: one whose successor still is to run is not placed again, also when its follow-up runs twice', () => {
    const next = fixtures.anAlloc();
    const running = alloc({ ClientStatus: 'running', NextAllocation: next.ID, FollowupEvalID: 'this evaluation' });
    expect(kindOf(running, { stored: new Map([[next.ID, next]]) }, true)).toBe('keep');
    const stopped = { ...next, DesiredStatus: 'stop' as const };
    expect(kindOf(running, { stored: new Map([[next.ID, stopped]]) }, true)).toBe('now');
  });

  it('SC-261: due its delay after it failed', () => {
    const FinishedAt = new Date(NOW_NS / 1e6 - 10_000).toISOString();
    const TaskStates = { web: deadTask({ Failed: true, FinishedAt }) };
    expect(rescheduleVerdict(alloc({ TaskStates }), view())).toEqual({ kind: 'later', atNs: NOW_NS + 20 * S });
  });

  it('SC-265: the policy is the one of the job it was placed with', () => {
    const world = ReconcilingFixture.of({ Count: 1, Update: null, ...policy(S) });
    world.addOld(0, { Job: alloc().Job, ClientStatus: 'failed', ModifyTime: NOW_NS });
    expect(world.run().desired['web']).toMatchObject({ RescheduleLater: 1, Place: 0 });
  });
});

describe('what it does to the counts', () => {
  const failing = (Delay: number): ReconcilingFixture => {
    const world = ReconcilingFixture.of({ Count: 2, Update: null, ...policy(Delay) });
    for (const i of [0, 1]) world.add(i, { ClientStatus: 'failed', ModifyTime: NOW_NS - S });
    return world;
  };

  it('SC-177: those that are later are counted; those that are now only beside disconnecting ones', () => {
    expect(failing(S).run().desired['web']).toMatchObject({ RescheduleNow: 0, RescheduleLater: 0, Place: 2 });
    expect(failing(30 * S).run().desired['web']).toMatchObject({ RescheduleNow: 0, RescheduleLater: 2, Place: 0 });
  });

  it('SC-212: one that is to migrate and is surplus is stopped, not moved', () => {
    const world = ReconcilingFixture.of({ Count: 1, Update: null });
    world.add(0);
    world.add(1, wanted({ Migrate: true }));
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([1]);
    expect([wants.placements.length, wants.desired['web']]).toMatchObject([0, { Migrate: 0, Stop: 1 }]);
  });

  it('SC-213: stops are the lost and the surplus', () => {
    const world = ReconcilingFixture.of({ Count: 2, Update: null });
    for (let i = 0; i < 4; i++) world.add(i);
    world.taint(world.allocs[0]!, { Status: 'down' });
    const wants = world.run();
    expect(wants.desired['web']?.Stop).toBe(wants.stops.length);
    expect(stoppedIndexes(wants)).toContain(0);
    expect(wants.stops).toHaveLength(2);
  });

  it('SC-214: one that is rescheduled now is no surplus of a smaller count', () => {
    const world = ReconcilingFixture.of({ Count: 1, Update: null, ...policy(S) });
    world.add(0);
    world.add(1, { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S });
    const wants = world.run();
    expect(stoppedIndexes(wants)).not.toContain(0);
    expect(wants.placements).toEqual([]); // by the letter one more than wanted, until the next evaluation
  });

  it('SC-214: of those that are due, as many are replaced as are wanted beside what runs', () => {
    const world = ReconcilingFixture.of({ Count: 2, Update: null, ...policy(S) });
    for (const i of [0, 2, 3]) world.add(i, { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S });
    world.add(1);
    const wants = world.run();
    expect(wants.placements.map(({ name }) => name)).toEqual(['web.web[0]']);
    expect(stoppedIndexes(wants)).toEqual([]);
  });

  it('SC-225: what is rescheduled keeps its name, what is lost is replaced, the rest gets free names', () => {
    const world = ReconcilingFixture.of({ Count: 4, Update: null, ...policy(S) });
    world.add(0, { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S });
    world.taint(world.add(1), { Status: 'down' });
    world.add(2);
    const wants = world.run();
    expect(wants.placements.map(({ name, reschedule }) => `${name} ${reschedule}`).toSorted()).toEqual([
      'web.web[0] stops-previous',
      'web.web[1] no',
      'web.web[3] no',
    ]);
  });
});
