import {
  NO_TRANSITION,
  NS_PER_MINUTE,
  NS_PER_SECOND,
  rfc3339FromNs,
  type Allocation,
  type AllocMetric,
  type DisconnectStrategy,
  type Job,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { bucketOf, isExpired, lastUnknownTime, needsReconnect } from './reconciliation/classification.js';
import { replaceableFrom } from './reconciliation/delayed-stop.js';
import { evalIdsOf, FollowUps } from './reconciliation/follow-ups.js';
import { indexesOf, NOW_NS, ReconcilingFixture, stoppedIndexes } from './reconciliation/reconciling.fixture.js';
import { prefersReplacement } from './reconciliation/reconnect.js';

const S = NS_PER_SECOND;
const disconnect = (over: Partial<DisconnectStrategy> = {}): DisconnectStrategy => ({
  LostAfter: 5 * NS_PER_MINUTE,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: 'best_score',
  ...over,
});
const states = (...entries: [value: string, agoNs: number][]): Allocation['AllocStates'] =>
  entries.map(([Value, agoNs]) => ({ Field: 0, Value, Time: rfc3339FromNs(NOW_NS - agoNs) }));
const unknown = states(['unknown', 3 * S]);
const back = states(['unknown', 30 * S], ['running', 3 * S]);
const policy = (Delay: number) => ({ ReschedulePolicy: { ...fixtures.aGroup().ReschedulePolicy!, Delay } });
const group = (Count: number, over: Partial<TaskGroup> = {}, job: Partial<Job> = {}) =>
  ReconcilingFixture.of({ Count, Update: null, Disconnect: disconnect(), ...policy(S), ...over }, job);
const desired = (wants: ReturnType<ReconcilingFixture['run']>) => wants.desired['web']!;
const scored = (NormScore: number): AllocMetric =>
  ({ ScoreMetaData: [{ NodeID: '', Scores: {}, NormScore }] }) as Partial<AllocMetric> as AllocMetric;

describe('predicates (1.12)', () => {
  const alloc = (over: Partial<Allocation>, lostAfter = 5 * S) =>
    fixtures.anAlloc({
      Job: fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Disconnect: disconnect({ LostAfter: lostAfter }) })] }),
      ClientStatus: 'unknown',
      ...over,
    });

  it('SC-2, SC-3: the newest entry with a value decides', () => {
    expect(needsReconnect(alloc({ AllocStates: [] }))).toBe(false);
    expect(needsReconnect(alloc({ AllocStates: unknown }))).toBe(true);
    expect(needsReconnect(alloc({ AllocStates: back }))).toBe(false);
    expect(needsReconnect(alloc({ AllocStates: [...unknown, { Field: 0, Value: '', Time: null }] }))).toBe(true);
  });

  it('SC-4, SC-318: the first of the newest uninterrupted run counts', () => {
    expect(lastUnknownTime({ AllocStates: states(['unknown', 9 * S], ['unknown', 4 * S]) })).toBe(NOW_NS - 9 * S);
    const again = states(['unknown', 9 * S], ['running', 8 * S], ['unknown', 4 * S]);
    expect(lastUnknownTime({ AllocStates: again })).toBe(NOW_NS - 4 * S);
    expect(lastUnknownTime({ AllocStates: [] })).toBe(0);
  });

  it.each([
    [3, 5, false],
    [5, 5, true],
    [10, 5, true],
    [0, 0, true],
  ])('SC-5: unknown for %d s of %d: expired %s', (agoS, lostAfterS, expected) => {
    const AllocStates = states(['unknown', agoS * S]);
    expect(isExpired(alloc({ AllocStates }, lostAfterS * S), NOW_NS)).toBe(expected);
  });
});

describe('the decision table of SC-158', () => {
  const withBlock = disconnect();
  const noReplace = disconnect({ Replace: false });
  const expired = states(['unknown', 10 * NS_PER_MINUTE]);
  const never = states();
  it.each([
    ['ready', 'running', never, withBlock, 'untainted'],
    ['ready', 'running', back, withBlock, 'untainted'],
    ['ready', 'running', unknown, null, 'reconnecting'],
    ['ready', 'unknown', unknown, withBlock, 'reconnecting'],
    ['ready', 'unknown', expired, withBlock, 'expiring'],
    ['ready', 'failed', unknown, withBlock, 'reconnecting'],
    ['ready', 'failed', never, withBlock, 'untainted'],
    ['ready', 'complete', unknown, withBlock, 'untainted'],
    ['ready', 'pending', never, null, 'untainted'],
    ['disconnected', 'running', never, disconnect({ LostAfter: 0 }), 'lost'],
    ['disconnected', 'running', never, null, 'lost'],
    ['disconnected', 'running', back, withBlock, 'disconnecting'],
    ['disconnected', 'running', never, noReplace, 'disconnecting'],
    ['disconnected', 'pending', never, withBlock, 'lost'],
    ['disconnected', 'unknown', unknown, withBlock, 'untainted'],
    ['disconnected', 'unknown', expired, withBlock, 'expiring'],
    ['disconnected', 'complete', never, null, 'untainted'],
    ['down', 'running', never, withBlock, 'lost'],
    ['down', 'running', never, null, 'lost'],
    ['down', 'running', never, noReplace, 'disconnecting'],
    ['down', 'pending', never, noReplace, 'lost'],
    ['down', 'unknown', unknown, withBlock, 'lost'],
    ['down', 'unknown', unknown, noReplace, 'untainted'],
    ['down', 'complete', never, null, 'untainted'],
    ['gone', 'running', never, withBlock, 'lost'],
    ['gone', 'complete', never, withBlock, 'untainted'],
  ] as const)('SC-158: node %s, client %s → row', (node, ClientStatus, AllocStates, block, expected) => {
    const world = group(1, { Disconnect: block });
    const alloc = world.add(0, { ClientStatus, AllocStates });
    if (node === 'gone') world.taint(alloc, null);
    else if (node !== 'ready') world.taint(alloc, { Status: node });
    expect(bucketOf(alloc, world.tainted, NOW_NS)).toBe(expected);
  });

  it('SC-158, SC-160: told to migrate it migrates, unless its node is disconnected; draining alone moves nothing', () => {
    const world = group(1);
    const DesiredTransition = { ...NO_TRANSITION, Migrate: true };
    const alloc = world.add(0, { DesiredTransition });
    expect(bucketOf(alloc, world.tainted, NOW_NS)).toBe('migrate');
    world.taint(alloc, { Status: 'disconnected' });
    expect(bucketOf(alloc, world.tainted, NOW_NS)).toBe('disconnecting');
    const staying = world.add(1);
    const DrainStrategy = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    world.taint(staying, { Status: 'ready', DrainStrategy });
    expect(bucketOf(staying, world.tainted, NOW_NS)).toBe('untainted');
  });

  it('SC-310: what the server stopped never reconnects', () => {
    const world = group(1);
    const alloc = world.add(0, { DesiredStatus: 'stop', AllocStates: unknown });
    expect(bucketOf(alloc, world.tainted, NOW_NS)).toBe('ignore');
  });

  it('SC-326: a finished canary that is to migrate does (C4)', () => {
    const world = group(1);
    const DeploymentStatus = { Healthy: false, Timestamp: null, Canary: true, ModifyIndex: 0 };
    const DesiredTransition = { ...NO_TRANSITION, Migrate: true };
    const alloc = world.add(0, { ClientStatus: 'failed', DeploymentStatus, DesiredTransition });
    expect(bucketOf(alloc, world.tainted, NOW_NS)).toBe('migrate');
  });
});

describe('disconnecting', () => {
  function half(over: Partial<TaskGroup> = {}) {
    const world = group(4, over);
    for (const i of [0, 1]) world.add(i);
    for (const i of [2, 3]) world.taint(world.add(i), { Status: 'disconnected' });
    return world;
  }

  it('SC-190 to SC-192, SC-197: unknown, with a time limit, and replaced by the reschedule policy (V17)', () => {
    const world = half();
    const wants = world.run();
    expect([...wants.rewrites.values()]).toMatchObject(
      [2, 3].map((i) => ({
        Name: `web.web[${i}]`,
        ClientStatus: 'unknown',
        ClientDescription: 'alloc is unknown since its node is disconnected',
        DesiredStatus: 'run',
        AllocStates: [{ Field: 0, Value: 'unknown' }],
        FollowupEvalID: wants.followups[0]!.ID,
      })),
    );
    expect(wants.followups).toMatchObject([
      {
        TriggeredBy: 'max-disconnect-timeout',
        StatusDescription: 'created for delayed disconnect timeout',
        WaitUntil: rfc3339FromNs(NOW_NS + 5 * NS_PER_MINUTE),
      },
    ]);
    expect(wants.placements).toMatchObject(
      [2, 3].map((i) => ({ name: `web.web[${i}]`, reschedule: 'keeps-previous' })),
    );
    expect(wants.stops).toEqual([]);
    expect(desired(wants)).toMatchObject({ Disconnect: 2, RescheduleNow: 2, Ignore: 2 });
  });

  it('SC-192: with a delay they are named to the second follow-up, and nothing is placed (V18)', () => {
    const wants = half(policy(30 * S)).run();
    const [timeout, later] = wants.followups;
    expect(timeout).toMatchObject({ WaitUntil: rfc3339FromNs(NOW_NS + 5 * NS_PER_MINUTE) });
    expect(later).toMatchObject({ TriggeredBy: 'alloc-reschedule', WaitUntil: rfc3339FromNs(NOW_NS + 30 * S) });
    expect([...wants.rewrites.values()].map((a) => a.FollowupEvalID)).toEqual([later!.ID, later!.ID]);
    expect(wants.placements).toEqual([]);
    expect(desired(wants)).toMatchObject({ Disconnect: 2, RescheduleLater: 2 });
  });

  it('SC-168, SC-192: those of a deployment that is active too, at once or when their follow-up runs', () => {
    const deploying = (over: Partial<TaskGroup>, alloc: Partial<Allocation>) => {
      const world = group(1, over);
      const { ID } = world.deploy();
      world.taint(world.add(0, { DeploymentID: ID, ...alloc }), { Status: 'disconnected' });
      return world;
    };
    const wants = deploying(policy(30 * S), {}).run();
    expect(wants.followups.map(({ TriggeredBy }) => TriggeredBy)).toEqual([
      'max-disconnect-timeout',
      'alloc-reschedule',
    ]);
    const due = deploying(policy(30 * S), {
      ClientStatus: 'unknown',
      AllocStates: states(['unknown', 30 * S]),
    });
    due.allocs[0]!.FollowupEvalID = due.evaluation.ID;
    expect(due.run().placements).toMatchObject([{ name: 'web.web[0]', reschedule: 'keeps-previous' }]);
  });

  describe('of a batch job', () => {
    const away = (world: ReconcilingFixture, over: Partial<Allocation> = {}): Allocation =>
      world.add(0, { ClientStatus: 'unknown', AllocStates: states(['unknown', 30 * S]), ...over });
    const batch = () => group(1, policy(30 * S), { Type: 'batch' });
    const ended = (Failed = false): Pick<Allocation, 'TaskStates'> => ({
      TaskStates: {
        web: {
          State: 'dead',
          Failed,
          Restarts: 0,
          LastRestart: null,
          StartedAt: null,
          FinishedAt: null,
          Paused: '',
          Events: [],
        },
      },
    });

    it('SC-194: its follow-up places the replacement, as that of a service does', () => {
      const world = batch();
      const alloc = away(world, { FollowupEvalID: world.evaluation.ID });
      world.taint(alloc, { Status: 'disconnected' });
      expect(world.run().placements).toMatchObject([{ previous: { ID: alloc.ID }, reschedule: 'keeps-previous' }]);
    });

    it('SC-192: before its follow-up is due nothing is placed', () => {
      const world = batch();
      world.taint(away(world, { FollowupEvalID: 'another' }), { Status: 'disconnected' });
      expect(world.run()).toMatchObject({ placements: [], stops: [] });
    });

    it('what ended well while it was out of reach counts, and its replacement is not needed any more', () => {
      const world = batch();
      const original = away(world, { ClientStatus: 'complete', ...ended() });
      const replacement = world.add(0, { PreviousAllocation: original.ID });
      original.NextAllocation = replacement.ID;
      const wants = world.run();
      expect(wants.stops).toMatchObject([
        { alloc: { ID: replacement.ID }, description: 'alloc not needed due to disconnected client reconnect' },
      ]);
      expect(wants.placements).toEqual([]);
      // Nor is anything placed once that is stopped.
      Object.assign(replacement, { DesiredStatus: 'stop', ClientStatus: 'complete', ...ended(true) });
      expect(world.run()).toMatchObject({ stops: [], placements: [] });
    });

    it.each<[string, Partial<Allocation>]>([
      ['its replacement has done the work too', { ClientStatus: 'complete', ...ended() }],
      ['it failed, and its replacement runs', { ClientStatus: 'running' }],
    ])('SC-166: %s: nothing is stopped or placed', (_, over) => {
      const world = batch();
      const hasFailed = over.ClientStatus === 'running';
      const original = away(world, { ClientStatus: 'complete', ...ended(hasFailed) });
      const replacement = world.add(0, { PreviousAllocation: original.ID, ...over });
      original.NextAllocation = replacement.ID;
      expect(world.run()).toMatchObject({ stops: [], placements: [] });
    });
  });

  it('SC-340: what comes back to a machine that drains is stopped, and not placed beside its replacement', () => {
    const world = group(2);
    const original = world.add(0, {
      ClientStatus: 'unknown',
      AllocStates: unknown,
      DesiredTransition: { ...NO_TRANSITION, Migrate: true },
    });
    const replacement = world.add(0, { PreviousAllocation: original.ID });
    original.NextAllocation = replacement.ID;
    // With another one lost there is no surplus that would stop it.
    const lost = world.taint(world.add(1), { Status: 'down' });
    const wants = world.run();
    expect(wants.stops.map(({ alloc }) => alloc.ID).toSorted()).toEqual([original.ID, lost.ID].toSorted());
    expect(wants.placements.map(({ previous }) => previous?.ID)).toEqual([lost.ID]);
    // One whose replacement is not there any more moves.
    Object.assign(replacement, { ClientStatus: 'complete', DesiredStatus: 'stop' });
    expect(world.run().placements.map(({ previous }) => previous?.ID)).toEqual([lost.ID, original.ID]);
  });

  it('SC-170, SC-193: without replace they are only marked', () => {
    const wants = half({ Disconnect: disconnect({ Replace: false }) }).run();
    expect(wants).toMatchObject({ placements: [], stops: [] });
    expect(wants.followups).toHaveLength(1);
    expect(desired(wants).Disconnect).toBe(2);
  });

  it('SC-171, SC-194, SC-195: when the follow-up runs the place is filled and the original stays', () => {
    const world = group(1, policy(30 * S));
    const alloc = world.add(0, {
      ClientStatus: 'unknown',
      AllocStates: states(['unknown', 30 * S]),
      FollowupEvalID: world.evaluation.ID,
    });
    world.taint(alloc, { Status: 'disconnected' });
    const wants = world.run();
    expect(wants.placements).toMatchObject([{ previous: { ID: alloc.ID }, reschedule: 'keeps-previous' }]);
    expect(wants.stops).toEqual([]);
    // Once replaced, the same evaluation run twice places nothing more (SC-178).
    const replacement = world.add(0, { PreviousAllocation: alloc.ID });
    alloc.NextAllocation = replacement.ID;
    expect(world.run()).toMatchObject({ placements: [], stops: [] });
  });

  it('SC-199: expired, they are lost; those replaced already are just stopped (V23)', () => {
    const world = group(5);
    for (const i of [0, 1, 2]) world.add(i);
    for (const i of [3, 4]) {
      const replacement = world.add(i);
      const AllocStates = states(['unknown', 6 * NS_PER_MINUTE]);
      const original = world.add(i, { ClientStatus: 'unknown', AllocStates, NextAllocation: replacement.ID });
      world.taint(original, { Status: 'disconnected' });
    }
    const wants = world.run();
    expect(wants.stops.map(({ clientStatus }) => clientStatus)).toEqual(['lost', 'lost']);
    expect(wants.placements).toEqual([]);
    expect(desired(wants).Ignore).toBe(5);
  });

  it('SC-196: a job update replaces unknown ones like others', () => {
    const world = group(1);
    const alloc = world.addOld(0, { ClientStatus: 'unknown', AllocStates: unknown });
    world.taint(alloc, { Status: 'disconnected' });
    expect(world.run().destructive).toMatchObject([{ alloc: { ID: alloc.ID } }]);
  });

  it('SC-196, SC-340: one that has its replacement already is not replaced a second time', () => {
    const world = group(1);
    const replacement = world.addOld(0);
    const alloc = world.addOld(0, {
      ClientStatus: 'unknown',
      AllocStates: unknown,
      NextAllocation: replacement.ID,
    });
    world.taint(alloc, { Status: 'disconnected' });
    const wants = world.run();
    expect(wants.destructive).toMatchObject([{ alloc: { ID: replacement.ID } }]);
    expect(wants.stops).toMatchObject([{ alloc: { ID: alloc.ID } }]);
  });

  it('SC-149, SC-196: its replacement keeps the name that both had', () => {
    const world = group(2);
    const replacement = world.addOld(0);
    world.addOld(5);
    const alloc = world.addOld(0, { ClientStatus: 'unknown', AllocStates: unknown, NextAllocation: replacement.ID });
    world.taint(alloc, { Status: 'disconnected' });
    const updated = world.run().destructive.find((one) => one.alloc.ID === replacement.ID);
    expect(updated?.name).toBe(replacement.Name);
  });
});

describe('reconnecting', () => {
  it('SC-184, SC-187: kept and running: written down once (V19)', () => {
    const world = group(2);
    for (const i of [0, 1]) world.add(i, { AllocStates: unknown });
    const wants = world.run();
    expect([...wants.rewrites.values()]).toMatchObject(
      [0, 1].map(() => ({ AllocStates: [{ Value: 'unknown' }, { Value: 'running' }] })),
    );
    expect(wants).toMatchObject({ placements: [], stops: [] });
    expect(desired(wants)).toMatchObject({ Reconnect: 2, Ignore: 2 });
    for (const alloc of world.allocs) alloc.AllocStates = back;
    const again = world.run();
    expect(again.rewrites.size + again.placements.length + again.stops.length).toBe(0);
  });

  it('SC-185: still unknown although its node is back: nothing is written yet', () => {
    const world = group(1);
    world.add(0, { ClientStatus: 'unknown', AllocStates: unknown });
    const wants = world.run();
    expect(wants.rewrites.size + wants.placements.length + wants.stops.length).toBe(0);
  });

  it('SC-179: keep_original stops the replacement (V20)', () => {
    const world = group(3, { Disconnect: disconnect({ Reconcile: 'keep_original' }) });
    for (const i of [0, 1]) world.add(i);
    const replacement = world.add(2);
    const original = world.add(2, { AllocStates: unknown, NextAllocation: replacement.ID });
    const wants = world.run();
    expect(wants.stops).toMatchObject([
      { alloc: { ID: replacement.ID }, description: 'alloc not needed due to disconnected client reconnect' },
    ]);
    expect([...wants.rewrites.keys()]).toEqual([original.ID]);
    expect(desired(wants)).toMatchObject({ Ignore: 3, Reconnect: 1, Stop: 1 });
  });

  it('SC-179: keep_replacement stops the original', () => {
    const world = group(1, { Disconnect: disconnect({ Reconcile: 'keep_replacement' }) });
    const replacement = world.add(0);
    const original = world.add(0, { AllocStates: unknown, NextAllocation: replacement.ID });
    const wants = world.run();
    expect(wants.stops).toMatchObject([
      { alloc: { ID: original.ID }, description: 'alloc not needed due to job update' },
    ]);
    expect(wants.rewrites.size).toBe(0);
  });

  it.each([
    ['with their replacements running (V21)', true, 0, 4],
    ['without replacements (V22)', false, 2, 2],
  ])('SC-179 N1, SC-186: originals come back failed, %s', (_, replaced, placed, ignored) => {
    const world = group(4);
    for (const i of [0, 1]) world.add(i);
    for (const i of [2, 3]) {
      const replacement = replaced ? world.add(i) : undefined;
      world.add(i, { ClientStatus: 'failed', AllocStates: unknown, NextAllocation: replacement?.ID ?? '' });
    }
    const wants = world.run();
    expect(wants.stops).toMatchObject(
      [2, 3].map(() => ({ clientStatus: 'failed', description: 'alloc was rescheduled because it failed' })),
    );
    expect(wants.placements).toHaveLength(placed);
    expect(desired(wants).Ignore).toBe(ignored);
  });

  it('SC-179 N2, SC-329: of an older version, it is stopped', () => {
    const world = group(1);
    const current = world.add(0);
    const original = world.addOld(0, { AllocStates: unknown, NextAllocation: current.ID });
    expect(world.run().stops).toMatchObject([{ alloc: { ID: original.ID } }]);
  });

  it('SC-180, SC-181, SC-320: the whole chain of replacements is followed', () => {
    const world = group(1, { Disconnect: disconnect({ Reconcile: 'keep_original' }) });
    const last = world.add(0);
    const middle = world.add(0, { DesiredStatus: 'stop', ClientStatus: 'failed', NextAllocation: last.ID });
    const original = world.add(0, { AllocStates: unknown, NextAllocation: middle.ID });
    const wants = world.run();
    expect(wants.stops).toMatchObject([{ alloc: { ID: last.ID } }]);
    expect([...wants.rewrites.keys()]).toEqual([original.ID]);
  });

  it('SC-182, SC-321: original and replacement come back at once: one of them stays', () => {
    for (const Reconcile of ['keep_original', 'keep_replacement', 'best_score', 'longest_running']) {
      const world = group(1, { Disconnect: disconnect({ Reconcile }) });
      const replacement = world.add(0, { AllocStates: unknown });
      world.add(0, { AllocStates: unknown, NextAllocation: replacement.ID });
      const wants = world.run();
      expect(wants.stops).toHaveLength(1);
      expect(wants.rewrites.size).toBe(1);
      expect(wants.placements).toEqual([]);
    }
  });
});

describe('which one is kept', () => {
  const job = (Reconcile: string, over: Partial<Job> = {}, task = {}) =>
    fixtures.aJob({
      TaskGroups: [
        fixtures.aGroup({ Disconnect: disconnect({ Reconcile }), Tasks: [fixtures.aTask(), fixtures.aTask(task)] }),
      ],
      ...over,
    });
  const of = (Job: Job, over: Partial<Allocation> = {}) => fixtures.anAlloc({ Job, ClientStatus: 'running', ...over });
  const started = (...times: [name: string, at: number, restarted?: number][]): Allocation['TaskStates'] =>
    Object.fromEntries(
      times.map(([name, at, restarted]) => [
        name,
        {
          State: 'running',
          Failed: false,
          Restarts: 0,
          LastRestart: restarted ? rfc3339FromNs(NOW_NS + restarted * S) : null,
          StartedAt: rfc3339FromNs(NOW_NS + at * S),
          FinishedAt: null,
          Events: [],
          Paused: '',
        },
      ]),
    );

  it('the newer version, whatever the strategy', () => {
    const original = of(job('keep_original'));
    expect(prefersReplacement(original, of(job('keep_original', { Version: 1 })))).toBe(true);
  });

  it.each([
    [0.5, 0.6, 'running', true],
    [0.6, 0.6, 'running', false],
    [undefined, 0.1, 'running', true],
    [0.5, 0.6, 'pending', false],
  ] as const)('best_score: %s against %s (%s)', (was, is, ClientStatus, expected) => {
    const original = of(job('best_score'), { Metrics: was === undefined ? null : scored(was) });
    const replacement = of(job('best_score'), { Metrics: scored(is), ClientStatus });
    expect(prefersReplacement(original, replacement)).toBe(expected);
  });

  it.each([
    ['the earlier one', started(['web', 0]), started(['web', 5]), false],
    ['the replacement on a tie', started(['web', 5]), started(['web', 5]), true],
    ['by the last restart', started(['web', 0, 9]), started(['web', 5]), true],
    ['the only one that started', {}, started(['web', 5]), true],
    ['the earliest of its tasks', started(['a', 7], ['b', 1]), started(['a', 2], ['b', 3]), false],
  ])('SC-188: longest_running keeps %s', (_, was, is, expected) => {
    const original = of(job('longest_running'), { TaskStates: was });
    expect(prefersReplacement(original, of(job('longest_running'), { TaskStates: is }))).toBe(expected);
  });

  it('SC-188: with a leader only the leader counts', () => {
    const withLeader = job('longest_running', {}, { Name: 'lead', Leader: true });
    const original = of(withLeader, { TaskStates: started(['web', 1], ['lead', 9]) });
    expect(prefersReplacement(original, of(withLeader, { TaskStates: started(['web', 5], ['lead', 6]) }))).toBe(true);
  });
});

describe('stop_on_client_after', () => {
  const stopping = (KillTimeout: number, over: Partial<Allocation> = {}) =>
    fixtures.anAlloc({
      Job: fixtures.aJob({
        TaskGroups: [
          fixtures.aGroup({
            Disconnect: disconnect({ LostAfter: 0, StopOnClientAfter: S }),
            Tasks: [fixtures.aTask({ KillTimeout })],
          }),
        ],
      }),
      ...over,
    });

  it.each([
    [5, [], 6],
    [2, [], 6],
    [30, [], 31],
    [5, states(['lost', 10 * S]), -4],
  ])('SC-201: kill timeout %d s', (killTimeoutS, AllocStates, inS) => {
    expect(replaceableFrom(stopping(killTimeoutS * S, { AllocStates }), NOW_NS) - NOW_NS).toBe(inS * S);
  });

  it('SC-202, SC-203: stopped as lost now, replaced by the follow-up and not before', () => {
    const world = group(2, { Disconnect: disconnect({ LostAfter: 0, StopOnClientAfter: 60 * S }) });
    world.add(1);
    const alloc = world.taint(world.add(0), { Status: 'down' });
    const wants = world.run();
    const [followup] = wants.followups;
    expect(followup).toMatchObject({ TriggeredBy: 'alloc-failure', WaitUntil: rfc3339FromNs(NOW_NS + 65 * S) });
    expect(wants.stops).toMatchObject([{ clientStatus: 'lost', followupEvalId: followup!.ID }]);
    expect(wants.placements).toEqual([]);
    Object.assign(alloc, {
      DesiredStatus: 'stop',
      ClientStatus: 'lost',
      FollowupEvalID: followup!.ID,
      AllocStates: states(['lost', 0]),
    });
    expect(world.run().placements).toEqual([]);
    world.evaluation = { ...followup! };
    world.nowNs += 65 * S;
    expect(indexesOf(world.run().placements)).toEqual([0]);
  });
});

describe('follow-ups', () => {
  it('EB-29, SC-174: those less than five seconds after the first share one (22.7)', () => {
    const followUps = new FollowUps(fixtures.anEval(), NOW_NS, () => fixtures.freshId());
    const job = fixtures.aJob();
    const due = [0, 3, 4.9, 5, 9.9, 10].map((s) => ({ alloc: fixtures.anAlloc(), atNs: NOW_NS + s * S }));
    const evalIds = evalIdsOf(followUps.cover(job, due, 'alloc-reschedule', 'created for delayed rescheduling'));
    expect(followUps.made.map(({ WaitUntil }) => WaitUntil)).toEqual(
      [0, 5, 10].map((s) => rfc3339FromNs(NOW_NS + s * S)),
    );
    const [a, b, c] = followUps.made.map(({ ID }) => ID);
    expect(due.map(({ alloc }) => evalIds.get(alloc.ID))).toEqual([a, a, a, b, b, c]);
  });
});

describe('a delayed evaluation', () => {
  const failed = (world: ReconcilingFixture, index: number, over: Partial<Allocation> = {}) =>
    world.add(index, {
      ClientStatus: 'failed',
      TaskStates: {
        web: {
          State: 'dead',
          Failed: true,
          Restarts: 0,
          LastRestart: null,
          StartedAt: null,
          FinishedAt: rfc3339FromNs(NOW_NS),
          Events: [],
          Paused: '',
        },
      },
      ModifyTime: NOW_NS,
      ...over,
    });

  it('EB-222, SC-176: reschedules what names it, and delays others once more', () => {
    const world = group(2, policy(30 * S));
    world.evaluation = fixtures.anEval({ WaitUntil: rfc3339FromNs(NOW_NS + 2 * S) });
    failed(world, 0, { FollowupEvalID: world.evaluation.ID });
    const other = failed(world, 1);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([0]);
    expect(wants.followups).toMatchObject([{ TriggeredBy: 'alloc-reschedule' }]);
    expect([...wants.rewrites.values()]).toMatchObject([{ ID: other.ID, FollowupEvalID: wants.followups[0]!.ID }]);
  });

  it('EB-222: of an allocation that is unknown already makes no second one for its time limit', () => {
    const world = group(1);
    world.evaluation = fixtures.anEval({ WaitUntil: rfc3339FromNs(NOW_NS) });
    const AllocStates = [{ Field: 0, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - S) }];
    const gone = { ClientStatus: 'unknown' as const, AllocStates, FollowupEvalID: world.evaluation.ID };
    world.taint(world.add(0, gone), { Status: 'disconnected' });
    expect(world.run().followups).toEqual([]);
  });
});

describe('batch (22.8)', () => {
  const stopped = { DesiredStatus: 'stop' as const };
  const wanted = (over: Partial<Allocation['DesiredTransition']>) => ({
    DesiredTransition: { ...NO_TRANSITION, Migrate: true, ...over },
  });

  it('SC-211: on a scale-down what completed counts by its name (V24)', () => {
    const world = group(5, {}, { Type: 'batch' });
    for (let i = 0; i < 5; i++) world.add(i);
    world.add(5, { ClientStatus: 'complete' });
    world.add(6, { ClientStatus: 'complete', ...stopped });
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([5]);
    expect(desired(wants).Ignore).toBe(6);
  });

  it('SC-230, SC-327: what is drained is stopped, and keeps its place (V25)', () => {
    const world = group(10, {}, { Type: 'batch' });
    for (let i = 0; i < 8; i++) world.add(i);
    for (const i of [8, 9]) world.add(i, wanted({ MigrateDisablePlacement: true }));
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([8, 9]);
    expect(desired(wants)).toMatchObject({ Migrate: 2, Ignore: 8, Place: 0 });
    for (const alloc of world.allocs.slice(8)) Object.assign(alloc, stopped);
    const again = world.run();
    expect(again).toMatchObject({ placements: [], stops: [] });
    expect(desired(again).Ignore).toBe(10);
  });

  it.each([
    ['long ago (V26)', 3600, 2, 0],
    ['just now (V27)', 0, 0, 2],
  ])('SC-231: stopped with rescheduling, last changed %s', (_, agoS, placed, later) => {
    const ReschedulePolicy = fixtures.aGroup({}, 'batch').ReschedulePolicy;
    const world = group(10, { ReschedulePolicy }, { Type: 'batch' });
    for (let i = 0; i < 8; i++) world.add(i);
    for (const i of [8, 9]) world.add(i, { ...wanted({ Reschedule: true }), ModifyTime: NOW_NS - agoS * S });
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([8, 9]);
    expect(indexesOf(wants.placements)).toEqual([8, 9].slice(0, placed));
    expect(wants.placements.every(({ reschedule }) => reschedule === 'keeps-previous')).toBe(true);
    expect(desired(wants).RescheduleLater).toBe(later);
    expect(wants.followups).toHaveLength(later > 0 ? 1 : 0);
    if (later > 0) expect(wants.stops.map((s) => s.followupEvalId)).toEqual(Array(2).fill(wants.followups[0]!.ID));
  });

  it('SC-231: one that is stopped with rescheduling counts once towards Count', () => {
    const ReschedulePolicy = fixtures.aGroup({}, 'batch').ReschedulePolicy;
    const world = group(4, { ReschedulePolicy }, { Type: 'batch' });
    world.add(0, { ...wanted({ Reschedule: true }), ModifyTime: NOW_NS - 3_600 * S });
    expect(indexesOf(world.run().placements).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
  });
});
