import {
  NO_TRANSITION,
  NS_PER_MINUTE,
  NS_PER_SECOND,
  rfc3339FromNs,
  type Allocation,
  type DisconnectStrategy,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, NOW_NS, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';

const S = NS_PER_SECOND;
const disconnect = (over: Partial<DisconnectStrategy> = {}): DisconnectStrategy => ({
  LostAfter: 5 * NS_PER_MINUTE,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: 'keep_original',
  ...over,
});
const unknown = [{ Field: 0 as const, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - 3 * S) }];
const withDelay = (Delay: number): Partial<TaskGroup> => ({
  ReschedulePolicy: { ...fixtures.aGroup().ReschedulePolicy!, Delay, DelayFunction: 'constant' },
});
const worldOf = (Count: number, over: Partial<TaskGroup> = {}, Type = 'service'): ReconcilingFixture =>
  ReconcilingFixture.of({ Count, Update: null, Disconnect: disconnect(), ...withDelay(S), ...over }, { Type });
const ended = (Failed = false): Partial<Allocation> => ({
  TaskStates: {
    web: {
      State: 'dead',
      Failed,
      Restarts: 0,
      LastRestart: null,
      StartedAt: null,
      FinishedAt: rfc3339FromNs(NOW_NS),
      Events: [],
      Paused: '',
    },
  },
});
const idsOf = (allocs: Iterable<{ readonly alloc: Allocation }>): string[] => [...allocs].map(({ alloc }) => alloc.ID);

/** An allocation that was disconnected, and its chain of replacements, the last one last. */
function chain(world: ReconcilingFixture, original: Partial<Allocation>, ...replacements: Partial<Allocation>[]) {
  const allocs = [world.add(0, { AllocStates: unknown, ...original })];
  for (const over of replacements) {
    const next = world.add(0, over);
    allocs.at(-1)!.NextAllocation = next.ID;
    allocs.push(next);
  }
  return allocs;
}

describe('an allocation that completed while it was disconnected', () => {
  const complete = { ClientStatus: 'complete' as const, ...ended() };

  it('of a batch job counts: its replacements are stopped once, and the others of the group stay', () => {
    const world = worldOf(2, {}, 'batch');
    const stopped = { DesiredStatus: 'stop' as const, ClientStatus: 'failed' as const };
    const [, , last] = chain(world, complete, stopped, {});
    world.add(1);
    const wants = world.run();
    expect(idsOf(wants.stops)).toEqual([last!.ID]);
    expect(wants.stops[0]?.description).toBe('alloc not needed due to disconnected client reconnect');
    expect(wants.placements).toEqual([]);
    expect(wants.desired['web']).toMatchObject({ Stop: 1, Ignore: 3 });
  });

  it('of a batch job does not count if any of its replacements has done the work', () => {
    const world = worldOf(1, {}, 'batch');
    chain(world, complete, { ClientStatus: 'failed', ...ended(true) }, { ClientStatus: 'complete', ...ended() });
    expect(world.run()).toMatchObject({ stops: [], placements: [] });
  });

  it.each<[string, string, Partial<Allocation>]>([
    ['it is of a service', 'service', complete],
    ['it failed', 'batch', { ClientStatus: 'complete', ...ended(true) }],
    ['it was not disconnected', 'batch', { ...complete, AllocStates: [] }],
  ])('leaves its replacement if %s', (_, Type, original) => {
    const world = worldOf(1, {}, Type);
    chain(world, original, {});
    expect(world.run()).toMatchObject({ stops: [], placements: [] });
  });

  it('leaves its replacement while the servers do not know of its end', () => {
    const world = worldOf(1, {}, 'batch');
    const [original] = chain(world, { ClientStatus: 'unknown', ...ended() }, {});
    world.taint(original!, { Status: 'disconnected' });
    expect(world.run()).toMatchObject({ stops: [], placements: [] });
  });
});

describe('an allocation that must leave its node, and was replaced before (SC-340)', () => {
  const leaving = { DesiredTransition: { ...NO_TRANSITION, Migrate: true } };

  it.each<[string, Partial<Allocation>, boolean]>([
    ['runs', {}, true],
    ['is pending', { ClientStatus: 'pending' }, true],
    ['has failed', { ClientStatus: 'failed' }, true],
    ['is complete', { ClientStatus: 'complete' }, false],
    ['is lost', { ClientStatus: 'lost' }, false],
    ['is told to stop', { DesiredStatus: 'stop' }, false],
  ])('is placed again unless its replacement stands in: it %s', (_, replacement, standsIn) => {
    const world = worldOf(2);
    const [original] = chain(world, leaving, replacement);
    const wants = world.run();
    expect(wants.stops.map(({ alloc, description }) => [alloc.ID, description])).toContainEqual([
      original!.ID,
      'alloc is being migrated',
    ]);
    expect(wants.desired['web']?.Migrate).toBe(standsIn ? 0 : 1);
    expect(wants.placements.some(({ previous }) => previous?.ID === original!.ID)).toBe(!standsIn);
  });
});

describe('an allocation that reconnects', () => {
  const failed = { ClientStatus: 'failed' as const, ModifyTime: NOW_NS, ...ended(true) };

  it.each([
    ['due', S],
    ['due later', 60 * S],
  ])('SC-182: makes its failed replacement unneeded, whose own replacement is %s', (_, delay) => {
    const world = worldOf(1, withDelay(delay));
    const [original, replacement] = chain(world, {}, failed);
    const wants = world.run();
    expect(idsOf(wants.stops)).toEqual([replacement!.ID]);
    expect([...wants.rewrites.keys()]).toEqual([original!.ID]);
    expect(wants).toMatchObject({ placements: [], followups: [] });
    expect(wants.desired['web']).toMatchObject({ Stop: 1, Reconnect: 1, RescheduleLater: 0, Place: 0 });
  });

  it('SC-182: leaves what is due of others', () => {
    const world = worldOf(3);
    chain(world, {}, failed);
    const other = world.add(1, failed);
    world.add(2);
    expect(world.run().placements.map(({ previous }) => previous?.ID)).toEqual([other.ID]);
  });

  it('SC-209: stays if another one with its name, which is no replacement, is surplus', () => {
    const world = worldOf(1);
    const [, other] = [world.add(0, { AllocStates: unknown }), world.add(0)];
    expect(idsOf(world.run().stops)).toEqual([other.ID]);
  });

  it('SC-185, SC-313: is written only while it runs on a node that is ready', () => {
    const world = worldOf(2);
    world.add(0, { ClientStatus: 'unknown', AllocStates: unknown });
    const [running] = [world.add(1, { AllocStates: unknown })];
    const wants = world.run();
    expect([...wants.rewrites.keys()]).toEqual([running.ID]);
    expect(wants.desired['web']?.Reconnect).toBe(1);
  });
});

describe('allocations whose node disconnects (SC-190 to SC-193)', () => {
  it('some are replaced now, some later, and some not: all get a follow-up, and all count', () => {
    const events = (n: number) => ({
      RescheduleTracker: {
        Events: Array.from({ length: n }, () => ({
          RescheduleTime: NOW_NS,
          PrevAllocID: '',
          PrevNodeID: '',
          Delay: S,
        })),
        LastReschedule: 'ok' as const,
      },
    });
    const policy = { Attempts: 1, Interval: 3_600 * S, Unlimited: false };
    const group = { ReschedulePolicy: { ...withDelay(S).ReschedulePolicy!, ...policy } };
    const world = worldOf(3, group);
    const [now, never] = [world.add(0), world.add(1, events(1))];
    for (const alloc of [now, never]) world.taint(alloc, { Status: 'disconnected' });
    world.add(2);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([0]);
    expect(wants.placements[0]).toMatchObject({ previous: { ID: now.ID }, reschedule: 'keeps-previous' });
    const [timeout] = wants.followups;
    expect(wants.followups).toHaveLength(1);
    expect([...wants.rewrites.values()].map(({ ID, FollowupEvalID }) => [ID, FollowupEvalID])).toEqual([
      [now.ID, timeout!.ID],
      [never.ID, timeout!.ID],
    ]);
    expect(wants.desired['web']).toMatchObject({ Disconnect: 2, RescheduleNow: 1, RescheduleLater: 0, Place: 1 });
  });

  it('SC-191: the time limit of each is its own', () => {
    const world = worldOf(2, withDelay(60 * S));
    const Disconnect = disconnect({ LostAfter: NS_PER_MINUTE });
    const Job = { ...world.job, TaskGroups: [{ ...world.job.TaskGroups[0]!, Disconnect }] };
    world.taint(world.add(0, { Job }), { Status: 'disconnected' });
    world.taint(world.add(1), { Status: 'disconnected' });
    expect(world.run().followups.map(({ TriggeredBy, WaitUntil }) => [TriggeredBy, WaitUntil])).toEqual([
      ['max-disconnect-timeout', rfc3339FromNs(NOW_NS + NS_PER_MINUTE)],
      ['max-disconnect-timeout', rfc3339FromNs(NOW_NS + 5 * NS_PER_MINUTE)],
      ['alloc-reschedule', rfc3339FromNs(NOW_NS + 60 * S)],
    ]);
  });

  it('SC-193: without a limit the follow-up is due at once', () => {
    const world = worldOf(1, { Disconnect: disconnect({ LostAfter: 0, Replace: false }) });
    world.taint(world.add(0), { Status: 'down' });
    expect(world.run().followups).toMatchObject([{ WaitUntil: rfc3339FromNs(NOW_NS) }]);
  });
});

describe('places of lost allocations that stop later (SC-201 to SC-203)', () => {
  /** After 60 s, and 5 s for its tasks. */
  const stopping = (Count: number): ReconcilingFixture =>
    worldOf(Count, { Disconnect: disconnect({ LostAfter: 0, StopOnClientAfter: 60 * S }) });
  const lostAgo = (seconds: number): Partial<Allocation> => ({
    DesiredStatus: 'stop',
    ClientStatus: 'lost',
    FollowupEvalID: 'later',
    AllocStates: [{ Field: 0, Value: 'lost', Time: rfc3339FromNs(NOW_NS - seconds * S) }],
  });

  it.each<[string, Partial<Allocation>, number[]]>([
    ['one that waits', lostAgo(64), []],
    ['one whose time has come', lostAgo(65), [0]],
    ['one that was replaced', { ...lostAgo(1), NextAllocation: 'next' }, [0]],
    ['one without a follow-up', { ...lostAgo(1), FollowupEvalID: '' }, [0]],
    ['one that completed', { ...lostAgo(1), ClientStatus: 'complete' }, [0]],
  ])('are kept empty for %s', (_, over, placed) => {
    const world = stopping(2);
    world.add(0, over);
    world.add(1, { FollowupEvalID: 'later' });
    expect(indexesOf(world.run().placements)).toEqual(placed);
  });

  it('are filled by the follow-up of the allocation', () => {
    const world = stopping(1);
    world.add(0, { ...lostAgo(1), FollowupEvalID: world.evaluation.ID });
    expect(indexesOf(world.run().placements)).toEqual([0]);
  });

  it('nothing of the group is placed while one begins to wait', () => {
    const world = stopping(3);
    world.taint(world.add(0), { Status: 'down' });
    world.add(1);
    const wants = world.run();
    expect(wants.placements).toEqual([]);
    expect(stoppedIndexes(wants)).toEqual([0]);
    expect(wants.stops[0]).toMatchObject({ clientStatus: 'lost', followupEvalId: wants.followups[0]!.ID });
  });

  it('SC-200: one that need not wait is replaced, without a follow-up', () => {
    const world = worldOf(1);
    const lost = world.taint(world.add(0), { Status: 'down' });
    const wants = world.run();
    expect(wants.stops).toMatchObject([{ alloc: { ID: lost.ID }, followupEvalId: '' }]);
    expect(wants.placements).toMatchObject([{ previous: { ID: lost.ID }, reschedule: 'no' }]);
    expect(wants.followups).toEqual([]);
  });

  it('one whose time comes now does not wait', () => {
    const world = stopping(1);
    world.taint(world.add(0, { AllocStates: lostAgo(65).AllocStates! }), { Status: 'down' });
    expect(indexesOf(world.run().placements)).toEqual([0]);
  });
});
