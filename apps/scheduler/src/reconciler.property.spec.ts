import {
  isServerTerminal,
  NO_TRANSITION,
  NS_PER_MINUTE,
  NS_PER_SECOND,
  rfc3339FromNs,
  type Allocation,
  type Node,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { bucketOf } from './reconciliation/classification.js';
import { NOW_NS, ReconcilingFixture } from './reconciliation/reconciling.fixture.js';
import { SchedulingFixture } from './scheduling.fixture.js';
import { SeededRandom } from './seeded-random.js';

/** More of them by WAYBILL_TEST_SEEDS. Seeds are in the names: a failing one is run alone by `-t 'seed 17'`. */
const SEEDS = Array.from({ length: Number(process.env['WAYBILL_TEST_SEEDS'] ?? 300) }, (_, i) => i);
/** Beyond those: what they found once. 427, 986: the success of a deployment rewrote what was stopped as surplus. */
const FOUND = [427, 986, 2_091].filter((seed) => !SEEDS.includes(seed));
const PATH_SEEDS = SEEDS.slice(0, Math.ceil(SEEDS.length / 6));

function chance(random: SeededRandom) {
  const below = (n: number): number => Math.floor(random.next() * n);
  return {
    below,
    one: <T>(items: readonly T[]): T => items[below(items.length)]!,
    of: (p: number) => random.next() < p,
  };
}

/** Any state, also such as no sequence of events leads to. */
function anyWorld(seed: number): ReconcilingFixture {
  const { below, one, of } = chance(new SeededRandom(BigInt(seed)));
  const Type = one(['service', 'service', 'batch']);
  const base = fixtures.aGroup({}, Type);
  const world = ReconcilingFixture.of(
    {
      Count: below(7),
      Update:
        Type === 'batch' || of(0.2) ? null : { ...base.Update!, MaxParallel: 1 + below(3), Canary: one([0, 0, 1, 2]) },
      ReschedulePolicy: { ...base.ReschedulePolicy!, Delay: one([0, 30, 60]) * NS_PER_SECOND },
      Disconnect: of(0.5)
        ? {
            LostAfter: one([0, 5, 5]) * NS_PER_MINUTE,
            StopOnClientAfter: of(0.2) ? NS_PER_MINUTE : null,
            Replace: one([true, true, false, null]),
            Reconcile: one(['best_score', 'keep_original', 'keep_replacement', 'longest_running']),
          }
        : null,
    },
    { Type, Stop: of(0.05) },
  );
  if (of(0.6)) {
    const web = fixtures.aDeploymentState({
      DesiredCanaries: one([0, 0, 2]),
      Promoted: of(0.3),
      DesiredTotal: below(6),
      HealthyAllocs: below(6),
    });
    world.deploy({
      Status: one(['running', 'running', 'paused', 'failed', 'successful', 'cancelled']),
      JobVersion: one([0, 1, 1]),
      TaskGroups: of(0.9) ? { web } : {},
    });
  }
  const ago = (): string | null => rfc3339FromNs(NOW_NS - below(600) * NS_PER_SECOND);
  for (let n = below(12); n > 0; n--) {
    const ClientStatus = one([
      'running',
      'running',
      'running',
      'pending',
      'complete',
      'failed',
      'lost',
      'unknown',
    ] as const);
    const over: Partial<Allocation> = {
      ClientStatus,
      DesiredStatus: one(['run', 'run', 'run', 'run', 'stop', 'evict'] as const),
      ModifyTime: NOW_NS - below(600) * NS_PER_SECOND,
      AllocStates: Array.from({ length: one([0, 0, 1, 2, 3]) }, () => ({
        Field: 0,
        Value: one(['unknown', 'unknown', 'running', 'lost', '']),
        Time: ago(),
      })),
      DesiredTransition: {
        ...NO_TRANSITION,
        Migrate: of(0.1) || null,
        Reschedule: of(0.05) || null,
        ForceReschedule: of(0.05) || null,
        MigrateDisablePlacement: of(0.05) || null,
      },
      DeploymentID: world.deployment && of(0.5) ? world.deployment.ID : '',
      DeploymentStatus: of(0.4)
        ? { Healthy: one([true, false, null]), Timestamp: null, Canary: of(0.3), ModifyIndex: 0 }
        : null,
      FollowupEvalID: one(['', '', world.evaluation.ID, 'another']),
      NextAllocation: of(0.2) ? (world.allocs.at(-1)?.ID ?? '') : '',
    };
    const alloc = of(0.5) ? world.add(below(8), over) : world.addOld(below(8), over);
    if (of(0.3)) {
      const status = one(['down', 'disconnected', 'gone', 'ready'] as const);
      world.taint(alloc, status === 'gone' ? null : ({ Status: status } as Partial<Node>));
    }
    if (alloc.DeploymentStatus?.Canary && alloc.DeploymentID && world.deployment?.TaskGroups['web'])
      world.deployment.TaskGroups['web'].PlacedCanaries.push(alloc.ID);
  }
  return world;
}

describe('SC-340: what holds whatever is stored', () => {
  it.each([...SEEDS, ...FOUND])('SC-340: seed %d', (seed) => {
    const world = anyWorld(seed);
    const before = JSON.stringify([world.allocs, world.deployment, world.job, [...world.tainted]]);
    const wants = world.run();
    expect(JSON.stringify([world.allocs, world.deployment, world.job, [...world.tainted]])).toBe(before);

    const [group] = world.job.TaskGroups;
    const { Count } = group!;
    const live = world.allocs.filter((a) => !isServerTerminal(a));
    const migrations = wants.desired['web']?.Migrate ?? 0;
    const isMigration = (alloc: Allocation | undefined): boolean =>
      alloc !== undefined && bucketOf(alloc, world.tainted, world.nowNs) === 'migrate';
    const placed = wants.placements.filter(({ previous }) => !isMigration(previous));
    const canaries = placed.filter(({ canary, previous }) => canary && !previous);
    const Canary = group!.Update?.Canary ?? 0;
    const isOver = world.deployment?.Status === 'successful' || world.deployment?.JobVersion !== world.job.Version;
    const current = isOver ? null : world.deployment;
    const isWaiting = ({ ID }: Allocation): boolean => current?.TaskGroups['web']?.PlacedCanaries.includes(ID) ?? false;
    const waiting = live.filter((a) => isWaiting(a) && bucketOf(a, world.tainted, world.nowNs) === 'untainted');
    // Canaries stand beside what is placed (SC-221).
    expect(placed.length - canaries.length).toBeLessThanOrEqual(Count);
    expect(canaries.length).toBeLessThanOrEqual(Math.max(0, Canary - waiting.length));
    expect(placed.length + wants.destructive.length).toBeLessThanOrEqual(Count + Canary);
    expect(wants.destructive.length).toBeLessThanOrEqual(Math.min(Count, live.length));
    expect(migrations).toBeLessThanOrEqual(world.allocs.length);

    const stopped = wants.stops.map(({ alloc }) => alloc.ID);
    expect(new Set(stopped).size).toBe(stopped.length);
    expect(wants.stops.every(({ alloc, description }) => description !== '' && !isServerTerminal(alloc))).toBe(true);
    // Nothing is stopped and rewritten, or stopped and replaced, at once.
    const destroyed = wants.destructive.map(({ alloc }) => alloc.ID);
    expect(stopped.filter((id) => wants.rewrites.has(id) || destroyed.includes(id))).toEqual([]);

    if (world.job.Stop || Count === 0) {
      expect(wants.placements.length + wants.destructive.length + wants.followups.length).toBe(0);
      expect(wants.deployment).toBeNull();
    } else {
      for (const alloc of live.filter((a) => bucketOf(a, world.tainted, world.nowNs) === 'reconnecting'))
        if (alloc.ClientStatus === 'running')
          expect([stopped.includes(alloc.ID), wants.rewrites.has(alloc.ID)].filter(Boolean).length).toBeGreaterThan(0);
    }
    const blocksNew = world.deployment?.Status === 'failed' && world.deployment.JobVersion === world.job.Version;
    if (blocksNew) expect(wants.deployment).toBeNull();
    // Whoever waits for a follow-up waits for one that is there (SC-176).
    const known = new Set([...wants.followups.map(({ ID }) => ID), world.evaluation.ID, 'another', '']);
    for (const alloc of wants.rewrites.values()) expect(known).toContain(alloc.FollowupEvalID);
  });
});

/**
 * Registers versions, kills nodes and brings them back; then leaves everything alone.
 *
 * @param rolling with an update block: in steps, with canaries and deployments; without one all at once
 */
function livedIn(seed: number, rolling: boolean): SchedulingFixture {
  const { below, one } = chance(new SeededRandom(BigInt(seed)));
  const world = new SchedulingFixture();
  const nodes = Array.from({ length: 4 }, () => world.addNode());
  const LostAfter = one([0, 5]) * NS_PER_MINUTE;
  for (let step = 0; step < 12; step++) {
    switch (below(5)) {
      case 0:
      case 1: {
        const base = fixtures.aGroup();
        const steps = { ...base.Update!, MaxParallel: 1 + below(2), Canary: one([0, 0, 1]), AutoPromote: true };
        const Update = rolling ? steps : null;
        const Disconnect = LostAfter ? { LostAfter, StopOnClientAfter: null, Replace: true, Reconcile: '' } : null;
        const Tasks = [fixtures.aTask({ Config: { version: below(3) } })];
        const group = fixtures.aGroup({ Count: 1 + below(5), Update, Disconnect, Tasks });
        world.register(fixtures.aJob({ TaskGroups: [group] }));
        break;
      }
      case 2:
        world.nodeIs(one(nodes), one(['down', 'disconnected', 'ready']));
        break;
      case 3:
        world.nowMs += below(400) * 1_000;
        break;
      case 4:
        world.allRunHealthy();
        break;
    }
    if (world.state.tables.jobs.has('default/web')) world.run();
  }
  if (!world.state.tables.jobs.has('default/web')) world.register(fixtures.aJob());
  for (const node of nodes) world.nodeIs(node, 'ready');
  return world;
}

/** What the service `deployments` does with canaries that are healthy. */
function promote(world: SchedulingFixture): void {
  const deployment = world.deployment();
  if (deployment?.Status !== 'running') return;
  const TaskGroups = Object.fromEntries(
    Object.entries(deployment.TaskGroups).map(([name, state]) => [name, { ...state, Promoted: true }]),
  );
  const { verdict } = fixtures.apply(world.state, 'ApplyPlanResults', {
    ...fixtures.aPlanResult(),
    Deployment: { ...deployment, TaskGroups },
    EvalID: [...world.state.tables.evals.all()][0]!.ID,
  });
  if (verdict.kind !== 'accepted') throw new Error(JSON.stringify(verdict));
}

describe('left alone, it comes to rest', () => {
  it.each(PATH_SEEDS.flatMap((seed) => [[seed, false] as const, [seed, true] as const]))(
    'SC-340, SC-206: seed %d (update block: %s)',
    (seed, rolling) => {
      const world = livedIn(seed, rolling);
      let quiet = 0;
      for (let step = 0; step < 60 && quiet < 2; step++) {
        world.allRunHealthy();
        for (const alloc of world.allocs())
          if (alloc.ClientStatus === 'unknown' && alloc.DesiredStatus === 'run')
            world.report(alloc, { ClientStatus: 'running' });
        if (rolling) promote(world);
        world.nowMs += 60_000;
        quiet = world.run().isNoop ? quiet + 1 : 0;
      }
      expect(quiet).toBe(2);
      const { Count } = world.job().TaskGroups[0]!;
      expect(world.live()).toHaveLength(Count);
      expect(new Set(world.live()).size).toBe(Count);
      for (const stopped of world.allocs().filter((a) => a.DesiredStatus !== 'run'))
        expect(stopped.DesiredDescription).not.toBe('');
    },
  );

  it.each(PATH_SEEDS)('SC-41, SC-314: the same input gives the same plan, byte for byte, seed %d', (seed) => {
    const world = livedIn(seed, true);
    world.register(
      fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count: 6, Tasks: [fixtures.aTask({ User: 'x' })] })] }),
    );
    const evaluation = fixtures.anEval();
    const plan = (): string => {
      let ids = 0;
      Object.assign(world, { newId: () => `id-${ids++}` });
      return JSON.stringify(world.attemptFor(evaluation));
    };
    expect(plan()).toBe(plan());
  });
});
