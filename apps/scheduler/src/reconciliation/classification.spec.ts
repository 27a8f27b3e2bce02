import {
  allocIndex,
  NS_PER_MINUTE,
  ranSuccessfully,
  rfc3339FromNs,
  type Allocation,
  type Job,
  type Node,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  bucketOf,
  isExpired,
  isFromOlderJob,
  lastUnknownTime,
  needsReconnect,
  stopsNobodyReports,
  taintedNodesOf,
} from './classification.js';
import { reconcile } from './cluster-reconciler.js';
import { indexIn } from './name-index.js';
import { ReconcilingFixture } from './reconciling.fixture.js';
import { SchedulingFixture } from '../scheduling.fixture.js';

const NOW_NS = fixtures.timeNs;
const state = (State: 'dead' | 'running', Failed = false) => ({
  State,
  Failed,
  Restarts: 0,
  LastRestart: null,
  StartedAt: null,
  FinishedAt: null,
  Events: [],
  Paused: '',
});

describe('predicates (1.12)', () => {
  it.each([
    [{}, false],
    [{ a: state('dead') }, true],
    [{ a: state('dead'), b: state('dead', true) }, false],
    [{ a: state('dead'), b: state('running') }, false],
  ])('SC-7: with %j it ran successfully: %s', (TaskStates, expected) => {
    expect(ranSuccessfully({ TaskStates })).toBe(expected);
  });

  it.each([
    [3, 10, 3, 10, false],
    [2, 10, 3, 10, true],
    [4, 10, 3, 10, false],
    [0, 99, 0, 10, false],
    [5, 9, 0, 10, true], // purged and registered again: versions began anew
  ])('SC-8: version %d made at %d is older than version %d made at %d: %s', (v, created, version, at, older) => {
    const job = (Version: number, CreateIndex: number): Job => fixtures.aJob({ Version, CreateIndex });
    expect(isFromOlderJob(fixtures.anAlloc({ Job: job(v, created) }), job(version, at))).toBe(older);
  });

  it.each([
    ['web.web[7]', 7],
    ['a[1].b[2].web[30]', 30],
    ['web.web', 0],
    ['web.web[x]', 0],
    ['', 0],
  ])('SC-10: the index of %j is %d', (name, index) => {
    expect(indexIn(name)).toBe(index);
    expect(Math.max(0, allocIndex(name))).toBe(index);
  });

  it.each([
    ['purged', null],
    ['stopped', { Stop: true }],
  ])('SC-9: a job that is %s counts as stopped', (_, over) => {
    const world = ReconcilingFixture.of({ Count: 2 });
    world.add(0);
    world.add(1);
    const job = over && { ...world.job, ...over };
    const wants = reconcile({
      job,
      jobId: 'web',
      allocs: world.allocs,
      tainted: world.tainted,
      hasSettled: () => true,
      isComing: () => true,
      deployment: null,
      evaluation: world.evaluation,
      nowNs: NOW_NS,
      newId: world.newId,
      versionBefore: () => undefined,
      decideUpdate: () => ({ kind: 'ignore' }),
    });
    expect(wants.stops).toHaveLength(2);
    expect(wants.placements).toEqual([]);
  });
});

describe('tainted nodes', () => {
  it('SC-154: missing, down, draining and disconnected; not initializing, not ready, not ineligible', () => {
    const world = new SchedulingFixture();
    const drain = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    const nodes: Record<string, Node> = {
      down: world.addNode({ Status: 'down' }),
      draining: world.addNode({ DrainStrategy: drain }),
      disconnected: world.addNode({ Status: 'disconnected' }),
      initializing: world.addNode({ Status: 'initializing' }),
      ready: world.addNode(),
      ineligible: world.addNode({ SchedulingEligibility: 'ineligible' }),
      gone: fixtures.aNode(),
    };
    const allocs = Object.values(nodes).map(({ ID }) => fixtures.anAlloc({ NodeID: ID }));
    const tainted = taintedNodesOf(allocs, world.state.tables);
    const names = Object.entries(nodes).filter(([, { ID }]) => tainted.has(ID));
    expect(names.map(([name]) => name)).toEqual(['down', 'draining', 'disconnected', 'gone']);
    expect(tainted.get(nodes['gone']!.ID)).toBeNull();
  });
});

describe('stops that no agent reports', () => {
  const orders = (node: Partial<Node> | null | undefined, ...allocs: Partial<Allocation>[]) => {
    const stored = allocs.map((over) => fixtures.anAlloc({ DesiredStatus: 'stop', ClientStatus: 'running', ...over }));
    const tainted = new Map<string, Node | null>();
    for (const { NodeID } of stored) if (node !== undefined) tainted.set(NodeID, node && fixtures.aNode(node));
    return stopsNobodyReports(stored, tainted, NOW_NS).map(({ alloc }) => stored.indexOf(alloc));
  };

  it.each([
    ['was deleted', null, [0]],
    ['is down', { Status: 'down' as const }, [0]],
    ['is disconnected', { Status: 'disconnected' as const }, []],
    ['is there', undefined, []],
  ])('SC-155: one that was told to stop on a node that %s', (_, node, expected) => {
    expect(orders(node, {})).toEqual(expected);
  });

  it('SC-155: those that were told to stop and have not ended, in their order', () => {
    const given = [
      { ClientStatus: 'pending' as const },
      { ClientStatus: 'complete' as const },
      { ClientStatus: 'unknown' as const },
      { DesiredStatus: 'run' as const },
      { DesiredStatus: 'evict' as const },
    ];
    expect(orders({ Status: 'down' }, ...given)).toEqual([0, 4]);
  });
});

describe('buckets of 14.3', () => {
  const unknown = (agoMinutes: number) => [
    { Field: 0, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - agoMinutes * NS_PER_MINUTE) },
  ];
  const withDisconnect = (LostAfter: number | undefined): Job =>
    fixtures.aJob({
      TaskGroups: [
        fixtures.aGroup({
          Disconnect:
            LostAfter === undefined
              ? null
              : { LostAfter: LostAfter * NS_PER_MINUTE, StopOnClientAfter: null, Replace: true, Reconcile: '' },
        }),
      ],
    });
  const bucket = (alloc: Allocation, node: Partial<Node> | undefined): string => {
    const tainted = new Map<string, Node | null>();
    if (node) tainted.set(alloc.NodeID, fixtures.aNode({ ID: alloc.NodeID, ...node }));
    return bucketOf(alloc, tainted, NOW_NS);
  };
  const running = (over: Partial<Allocation> = {}) => fixtures.anAlloc({ ClientStatus: 'running', ...over });
  const draining = { DrainStrategy: { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null } };

  it.each([undefined, 0])(
    'SC-159: without disconnect support (lost_after %s) it is lost with its node',
    (lostAfter) => {
      expect(bucket(running({ Job: withDisconnect(lostAfter) }), { Status: 'disconnected' })).toBe('lost');
    },
  );

  it('SC-160: a drain moves nothing by itself, the transition of the drainer does; down and disconnected come first', () => {
    const Migrate = { ...running().DesiredTransition, Migrate: true };
    expect(bucket(running(), draining)).toBe('untainted');
    expect(bucket(running({ DesiredTransition: Migrate }), draining)).toBe('migrate');
    expect(bucket(running(), { ...draining, Status: 'down' })).toBe('lost');
    const Job = withDisconnect(5);
    expect(bucket(running({ Job }), { ...draining, Status: 'disconnected' })).toBe('disconnecting');
  });

  it.each([undefined, { Status: 'disconnected' as const }, { Status: 'down' as const }])(
    'SC-161: expired it is lost wherever its node is (%j)',
    (node) => {
      const over = { Job: withDisconnect(5), ClientStatus: 'unknown' as const };
      expect(bucket(running({ ...over, AllocStates: unknown(5) }), node)).toBe('expiring');
      expect(bucket(running({ ...over, AllocStates: unknown(4) }), node)).not.toBe('expiring');
    },
  );

  it('SC-162: running, last known as unknown, on a disconnected node has no row of its own', () => {
    const alloc = running({ Job: withDisconnect(5), AllocStates: unknown(1) });
    expect(bucket(alloc, { Status: 'disconnected' })).toBe('disconnecting');
  });
});

describe('the history of client statuses', () => {
  const entry = (Value: string, agoMinutes: number, Field = 0) => ({
    Field,
    Value,
    Time: rfc3339FromNs(NOW_NS - agoMinutes * NS_PER_MINUTE),
  });

  it('SC-2, SC-4: entries of other fields do not count', () => {
    const AllocStates = [entry('unknown', 9), entry('running', 8, 1), entry('unknown', 4)];
    expect(lastUnknownTime({ AllocStates })).toBe(NOW_NS - 9 * NS_PER_MINUTE);
    expect(needsReconnect(fixtures.anAlloc({ AllocStates: [entry('unknown', 9), entry('running', 8, 1)] }))).toBe(true);
    expect(needsReconnect(fixtures.anAlloc({ AllocStates: [entry('running', 9), entry('unknown', 8, 1)] }))).toBe(
      false,
    );
  });

  it.each<[string, Partial<Allocation>, boolean]>([
    ['its time is over', { AllocStates: [entry('unknown', 5)] }, true],
    ['it has more time', { AllocStates: [entry('unknown', 4)] }, false],
    ['it never became unknown', { AllocStates: [] }, false],
    ['it runs again', { AllocStates: [entry('unknown', 5)], ClientStatus: 'running' }, false],
    ['its group is gone', { AllocStates: [entry('unknown', 5)], TaskGroup: 'gone' }, false],
    ['its job is gone', { AllocStates: [entry('unknown', 5)], Job: null }, false],
  ])('SC-5: decides whether an unknown allocation has expired: %s', (_, over, expired) => {
    const Disconnect = { LostAfter: 5 * NS_PER_MINUTE, StopOnClientAfter: null, Replace: true, Reconcile: '' };
    const Job = fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Disconnect })] });
    expect(isExpired(fixtures.anAlloc({ Job, ClientStatus: 'unknown', ...over }), NOW_NS)).toBe(expired);
  });

  it('SC-5: without a disconnect block it expires at once', () => {
    const alloc = fixtures.anAlloc({ ClientStatus: 'unknown', AllocStates: [entry('unknown', 0)] });
    expect([isExpired(alloc, NOW_NS), isExpired(alloc, NOW_NS - NS_PER_MINUTE)]).toEqual([true, false]);
  });
});

describe('what is not looked at', () => {
  it.each([
    ['service', {}, 2],
    ['batch', {}, 1],
    ['batch', { Reschedule: true }, 2],
  ])('SC-156: of a %s job one that was told to stop (%j) leaves %d places', (Type, transition, placed) => {
    const world = ReconcilingFixture.of({ Count: 2 }, { Type });
    const { DesiredTransition } = fixtures.anAlloc();
    world.add(0, {
      DesiredStatus: 'stop',
      ClientStatus: 'complete',
      TaskStates: { web: state('dead') },
      DesiredTransition: { ...DesiredTransition, MigrateDisablePlacement: true, ...transition },
    });
    expect(world.run().placements).toHaveLength(placed);
  });
});
