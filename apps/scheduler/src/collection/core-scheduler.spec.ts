import { CORE_TASKS } from '@waybill/model';
import { eventsOf, fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS } from './collecting.fixture.js';
import { IncompleteCollectionError, UnknownCoreTaskError } from './core-scheduler.js';
import { ROWS_PER_TURN } from './scan.js';
import { DEFAULT_THRESHOLDS, FORCED_THRESHOLDS } from './thresholds.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

/** One record of each kind that is over. */
const overOfEach = (): void => {
  const job = world.job({ Status: 'dead', Stop: true });
  world.alloc(world.evaluation(job));
  world.evaluation({ ID: 'gone', Type: 'service' });
  world.deployment({ JobID: 'gone' });
  world.node();
};

describe('the core scheduler', () => {
  it('GC-8 EB-150: an unknown task is an error that names it', async () => {
    await expect(world.run('paint-the-house')).rejects.toThrow(UnknownCoreTaskError);
    await expect(world.run('paint-the-house')).rejects.toThrow("core scheduler cannot handle job 'paint-the-house'");
    await expect(world.run('eval-gcx')).rejects.toThrow(UnknownCoreTaskError);
  });

  it('EB-150: data may follow the name behind a colon', async () => {
    await expect(world.run('csi-volume-claim-gc:11111111')).resolves.toBeUndefined();
  });

  it('GC-95 EB-149: an evaluation that finds nothing asks for nothing', async () => {
    for (const task of CORE_TASKS) await world.run(task);
    expect(world.reaps).toEqual([]);
  });

  it('GC-75: where there are no tokens the tasks of tokens end silently, also beside what is to go', async () => {
    overOfEach();
    for (const task of ['one-time-token-gc', 'local-token-expired-gc', 'global-token-expired-gc'])
      await world.run(task);
    expect(world.reaps).toEqual([]);
  });

  it.each([
    ['slow', -1_000, 3],
    ['fast', 1_000, 0],
  ])(
    'GC-17: a server whose clock is %s collects more or less of the same kinds, and nothing else',
    async (_, hours, left) => {
      for (const ID of ['a', 'b', 'c'])
        world.evaluation({ ID, Type: 'service' }, { ModifyTime: world.ago(HOUR_MS / 2) });
      const alive = world.job();
      world.alloc(world.evaluation(alive, { Status: 'blocked' }), { ClientStatus: 'running' });
      world.deployment({ JobID: alive.ID, Status: 'running' });
      world.node({ Status: 'ready' });
      const living = { jobs: 1, allocs: 1, deployment: 1, nodes: 1 };
      const clock = { nowMs: () => world.time.nowMs() + hours * HOUR_MS };
      for (const task of CORE_TASKS.filter((one) => one !== 'force-gc')) await world.run(task, { clock });
      expect(world.left()).toEqual({ ...living, evals: 1 + left });
    },
  );

  it('GC-128: the thresholds that nobody set', () => {
    const hours = (ns: number): number => ns / 3_600e9;
    expect(Object.entries(DEFAULT_THRESHOLDS).map(([name, ns]) => [name, hours(ns)])).toEqual([
      ['evaluationNs', 1],
      ['batchEvaluationNs', 24],
      ['jobNs', 4],
      ['deploymentNs', 1],
      ['nodeNs', 24],
      ['volumeClaimNs', 5 / 60],
      ['pluginNs', 1],
      ['tokenNs', 1],
      ['rootKeyNs', 721],
    ]);
  });

  it('GC-47 GC-135: every batch of a run carries the index of its beginning', async () => {
    overOfEach();
    const scan = world.state.appliedIndex;
    const indexes: number[] = [];
    await world.run('force-gc', {
      reap: async (_reap, scanIndex) => {
        indexes.push(scanIndex);
        fixtures.apply(world.state, 'Ignore', {});
      },
    });
    expect(indexes.length).toBeGreaterThan(3);
    expect(new Set(indexes)).toEqual(new Set([scan]));
  });

  it('GC-10 GC-135: others have their turn while it looks, and it sends while it looks', async () => {
    for (let n = 0; n < 2 * ROWS_PER_TURN; n++) world.evaluation({ ID: 'gone', Type: 'service' });
    const rows: number[] = [];
    await world.run('eval-gc', { rest: async () => void rows.push(world.tables.evals.size) });
    expect(rows).toEqual([ROWS_PER_TURN, 0]);
    expect(world.tables.evals.size).toBe(0);
  });

  it('race 6: what a run that broke off left is done by the next, nothing twice', async () => {
    for (let n = 0; n < 10; n++) world.evaluation({ ID: 'gone', Type: 'service' });
    let requests = 0;
    world.before = () => {
      if (++requests === 2) throw new Error('no holder');
    };
    const limits = { ids: 4, jobs: 4, volumes: 4 };
    await expect(world.run('eval-gc', { limits })).rejects.toThrow('no holder');
    expect(world.tables.evals.size).toBe(6);
    await world.run('eval-gc', { limits });
    expect(world.tables.evals.size).toBe(0);
    expect(world.applied.every(({ verdict }) => verdict.kind === 'accepted')).toBe(true);
  });

  it('race 3, GC-31: an allocation that an evaluation took over in place, before the deletion arrives, is unchanged', async () => {
    const job = world.job();
    const evaluation = world.evaluation(job);
    const alloc = world.alloc(evaluation);
    const later = world.evaluation(job, { Status: 'pending' });
    world.before = () => {
      const moved = { ...alloc, EvalID: later.ID, ModifyIndex: world.state.appliedIndex + 1 };
      fixtures.apply(world.state, 'Ignore', {});
      world.tables.allocs.replace(alloc.ID, moved);
    };
    await world.run('eval-gc');
    expect(world.tables.allocs.get(alloc.ID)).toMatchObject({ EvalID: later.ID });
    expect([...world.tables.evals.all()].map(({ ID }) => ID)).toEqual([later.ID]);
  });
});

describe('a forced collection', () => {
  it('GC-87 ND-146, ST-168: jobs first, then evaluations and deployments, nodes last', async () => {
    overOfEach();
    await world.run('force-gc');
    expect(world.reaps.map(({ Kind }) => Kind)).toEqual(['evaluations', 'jobs', 'evaluations', 'deployments', 'nodes']);
    expect(world.left()).toEqual({});
  });

  it('GC-88 GC-89 EB-147 DP-1401, ST-169: a millisecond is old enough for everything, and less is not', async () => {
    expect(new Set(Object.values(FORCED_THRESHOLDS))).toEqual(new Set([1e6]));
    const batch = { ID: 'gone', Type: 'batch' } as const;
    world.evaluation(batch, { ModifyTime: world.ago(1) });
    world.evaluation(batch, { ModifyTime: world.ago(0) });
    world.evaluation(batch, { ModifyTime: world.ago(10) });
    await world.run('force-gc');
    expect(world.tables.evals.size).toBe(1);
  });

  it('GC-90: what fails for one kind keeps no other from going, and is reported', async () => {
    overOfEach();
    world.before = ({ Kind }) => {
      if (Kind === 'deployments') throw new Error('not this time');
    };
    await expect(world.run('force-gc')).rejects.toThrow(IncompleteCollectionError);
    expect(world.left()).toEqual({ deployment: 1 });
  });

  it('GC-91: right after one there is nothing left that it could have seen', async () => {
    overOfEach();
    await world.run('force-gc');
    const { length } = world.reaps;
    await world.run('force-gc');
    expect(world.reaps).toHaveLength(length);
  });

  it('race 1: told to stop while its task is still up, an allocation stays with its evaluation and its job', async () => {
    const evaluation = world.evaluation(world.job({ Status: 'dead', Stop: true }));
    world.alloc(evaluation, { DesiredStatus: 'stop', ClientStatus: 'running' });
    await world.run('force-gc');
    expect(world.left()).toEqual({ jobs: 1, evals: 1, allocs: 1 });
  });

  it('race 11: a periodic parent that is switched off stays, a stopped one goes although it never had evaluations', async () => {
    const Periodic = {
      Enabled: false,
      Spec: '@daily',
      Specs: [],
      SpecType: 'cron',
      ProhibitOverlap: false,
      TimeZone: 'UTC',
    };
    world.job({ ID: 'off', Type: 'batch', Periodic });
    world.job({ ID: 'stopped', Type: 'batch', Periodic: { ...Periodic, Enabled: true }, Stop: true });
    await world.run('force-gc');
    expect([...world.tables.jobs.all()].map(({ ID }) => ID)).toEqual(['off']);
  });

  it('GC-107: what is never collected is not looked at', async () => {
    fixtures.apply(world.state, 'NodePoolUpsert', {
      NodePools: [{ Name: 'gpu', Description: '', Meta: null, SchedulerConfiguration: null, NodeIdentityTTL: 0 }],
    });
    fixtures.apply(world.state, 'NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    overOfEach();
    const pools = world.tables.node_pools.size;
    await world.run('force-gc');
    expect([world.tables.node_pools.size, world.tables.namespaces.size]).toEqual([pools, 2]);
  });

  it('GC-124: nothing is said in public of evaluations, allocations and deployments', async () => {
    world.alloc(world.evaluation({ ID: 'gone', Type: 'service' }));
    world.deployment({ JobID: 'gone' });
    await world.run('force-gc');
    expect(world.applied).toHaveLength(2);
    expect(world.applied.map((applied) => eventsOf(applied))).toEqual([null, null]);
  });
});
