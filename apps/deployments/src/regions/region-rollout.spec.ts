import { type Deployment, type DeploymentStatus, Refusal } from '@waybill/model';
import { regionRollout, rolloutChanged, RpcUnavailableError, runInRegion, unblockInRegion } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { WatchedCluster } from '../watching/watched-rollout.fixture.js';
import { MAX_POLL_MS, POLL_MS } from './region-rollout.js';
import { progressHere, RegionRollouts } from './region-rollouts.js';

interface Peer {
  Status: DeploymentStatus | 'none';
  HasRun?: boolean;
  isCut?: boolean;
  /** It answers that the caller has no right. */
  isForbidden?: boolean;
  /** It answers, and refuses commands. */
  refuses?: boolean;
}

interface Asked {
  readonly region: string;
  readonly call: string;
  readonly request: object;
}

const strategy = (MaxParallel: number, OnFailure = '') => ({ MaxParallel, OnFailure });

/** The part of `west` in a rollout over these regions; the others answer as `peers` says. */
function inWest(
  names: readonly string[],
  Status: DeploymentStatus,
  peers: Record<string, Peer>,
  over: { Strategy?: ReturnType<typeof strategy> | null; random?: number; deployment?: Partial<Deployment> } = {},
) {
  const cluster = new WatchedCluster();
  cluster.lead();
  const Regions = names.map((Name) => ({ Name, Count: 1, Datacenters: null, NodePool: '', Meta: null }));
  const job = cluster.register(fixtures.aJob({ Multiregion: { Strategy: over.Strategy ?? null, Regions } }));
  const Deployment = fixtures.aDeployment({
    Status,
    IsMultiregion: true,
    JobVersion: job.Version,
    JobCreateIndex: job.CreateIndex,
    ...over.deployment,
  });
  cluster.plan(job, { Deployment });
  const asked: Asked[] = [];
  const ask = async (region: string, call: { readonly name: string }, request: object): Promise<unknown> => {
    asked.push({ region, call: call.name, request });
    const peer = peers[region];
    if (!peer || peer.isCut) throw new RpcUnavailableError(call.name, 'timeout');
    if (peer.isForbidden) throw new Refusal('forbidden', 'Permission denied');
    if (call.name !== regionRollout.name && peer.refuses) throw new Refusal('conflict', 'not now');
    if (call.name !== regionRollout.name) return { Index: 1 };
    return { Status: peer.Status, HasRun: peer.HasRun ?? false, DeploymentID: `in-${region}` };
  };
  const rollouts = new RegionRollouts({
    regions: { own: 'west', names, askRegion: ask },
    random: () => over.random ?? 0.5,
    watching: cluster.watchers.watching,
    term: { isCurrent: () => true },
  } as never);
  const stored = () => cluster.state.tables.deployment.get(Deployment.ID)!;
  cluster.state.onApplied(({ changes }) => {
    for (const change of changes)
      if (change.table === 'deployment') rollouts.deploymentChanged(change.key, change.before, change.after);
  });
  const commanded = () => asked.filter(({ call }) => call === runInRegion.name || call === unblockInRegion.name);
  const polls = () => asked.filter(({ call }) => call === regionRollout.name).length;
  const begin = async () => {
    rollouts.beginRollout(stored());
    await cluster.time.pass(1);
  };
  return { cluster, job, rollouts, asked, commanded, polls, stored, begin };
}

describe("a region's part of a rollout", () => {
  it('DP-1114, DP-1115: begins when its turn has come and every region has it, and commands no other one', async () => {
    const { begin, stored, commanded, asked, job } = inWest(
      ['west', 'east'],
      'pending',
      { east: { Status: 'pending' } },
      { Strategy: strategy(1) },
    );
    await begin();
    expect(stored()).toMatchObject({ Status: 'running', HasRun: true });
    expect(commanded()).toEqual([]);
    expect(asked[0]).toEqual({
      region: 'east',
      call: regionRollout.name,
      request: { Namespace: 'default', JobID: 'web', JobVersion: job.Version, Registration: undefined },
    });
  });

  it('DP-1115: waits until every region has its part', async () => {
    const { begin, stored } = inWest(['west', 'east'], 'pending', { east: { Status: 'none' } });
    await begin();
    expect(stored().Status).toBe('pending');
  });

  it('DP-1116: starts as many of the others as may run, each by its own deployment', async () => {
    const peers = { east: { Status: 'pending' }, north: { Status: 'pending' } } as const;
    const one = inWest(['west', 'east', 'north'], 'blocked', peers, { Strategy: strategy(1) });
    await one.begin();
    const run = (region: string) => ({
      region,
      call: runInRegion.name,
      request: { DeploymentID: `in-${region}`, From: 'west' },
    });
    expect(one.commanded()).toEqual([run('east')]);
    const all = inWest(['west', 'east', 'north'], 'blocked', peers);
    await all.begin();
    expect(all.commanded()).toEqual([run('east'), run('north')]);
  });

  it('DP-1121: the last to finish unblocks the others, and succeeds after them', async () => {
    const east: Peer = { Status: 'blocked' };
    const { cluster, begin, stored, commanded } = inWest(['west', 'east'], 'blocked', { east });
    await begin();
    expect(stored().Status).toBe('unblocking');
    await cluster.time.pass(POLL_MS);
    expect(commanded()).toContainEqual({
      region: 'east',
      call: unblockInRegion.name,
      request: { DeploymentID: 'in-east', From: 'west' },
    });
    expect(stored().Status).toBe('unblocking');
    east.Status = 'successful';
    await cluster.time.pass(POLL_MS);
    expect(stored()).toMatchObject({ Status: 'successful', StatusDescription: 'Deployment completed successfully' });
  });

  it('DP-1123: fails after an earlier region has failed, unless failures stay local', async () => {
    const peers = { east: { Status: 'failed' } } as const;
    const struck = inWest(['east', 'west'], 'running', peers);
    await struck.begin();
    expect(struck.stored().Status).toBe('failed');
    const later = inWest(['west', 'east'], 'running', peers);
    await later.begin();
    expect(later.stored().Status).toBe('running');
    const all = inWest(['west', 'east'], 'running', peers, { Strategy: strategy(0, 'fail_all') });
    await all.begin();
    expect(all.stored().Status).toBe('failed');
    const local = inWest(['east', 'west'], 'running', peers, { Strategy: strategy(0, 'fail_local') });
    await local.begin();
    expect(local.stored().Status).toBe('running');
  });
});

describe('polls of the other regions', () => {
  it.each([
    [0, 0.8 * POLL_MS],
    [0.5, POLL_MS],
    [1, 1.2 * POLL_MS],
  ])('DP-1119: every ten seconds, varied by a fifth: at random %d after %d ms', async (random, pauseMs) => {
    const { cluster, begin, polls } = inWest(['west', 'east'], 'running', { east: { Status: 'running' } }, { random });
    await begin();
    expect(polls()).toBe(1);
    await cluster.time.pass(pauseMs - 2);
    expect(polls()).toBe(1);
    await cluster.time.pass(2);
    expect(polls()).toBe(2);
  });

  it('DP-1119: the pause doubles up to a minute while a region does not answer, and is short again when it does', async () => {
    const east: Peer = { Status: 'running', isCut: true };
    const { cluster, begin, polls } = inWest(['west', 'east'], 'running', { east });
    await begin();
    let expected = 1;
    for (const pauseMs of [2 * POLL_MS, 4 * POLL_MS, MAX_POLL_MS, MAX_POLL_MS]) {
      await cluster.time.pass(pauseMs - 2);
      expect(polls()).toBe(expected);
      await cluster.time.pass(2);
      expect(polls()).toBe((expected += 1));
    }
    east.isCut = false;
    await cluster.time.pass(MAX_POLL_MS);
    await cluster.time.pass(POLL_MS);
    expect(polls()).toBe(expected + 2);
  });

  it('DP-1119: the pause doubles as well after a step that a region refuses', async () => {
    const east: Peer = { Status: 'pending', refuses: true };
    const { cluster, begin, polls } = inWest(['west', 'east'], 'blocked', { east });
    await begin();
    await cluster.time.pass(2 * POLL_MS - 2);
    expect(polls()).toBe(1);
    await cluster.time.pass(2);
    expect(polls()).toBe(2);
  });

  it('DP-1130: a region that does not answer is unknown, so that nothing begins without it', async () => {
    const { begin, stored, commanded } = inWest(['west', 'east', 'north'], 'pending', { north: { Status: 'pending' } });
    await begin();
    expect(stored().Status).toBe('pending');
    expect(commanded()).toEqual([]);
  });

  it('DP-1138: a job of this region alone is not polled for, nor a deployment of one region', async () => {
    const alone = inWest(['west'], 'running', {});
    await alone.begin();
    expect([alone.asked, alone.cluster.time.pending]).toEqual([[], 0]);
    const plain = inWest(
      ['west', 'east'],
      'running',
      { east: { Status: 'running' } },
      { deployment: { IsMultiregion: false } },
    );
    await plain.begin();
    await plain.cluster.time.pass(10 * POLL_MS);
    expect(plain.asked).toEqual([]);
  });

  it('DP-1119: a peer that announces a change is asked at once; another rollout is not', async () => {
    const { cluster, begin, polls, rollouts, job } = inWest(['west', 'east'], 'running', {
      east: { Status: 'running' },
    });
    await begin();
    const name = { Namespace: 'default', JobID: 'web', JobVersion: job.Version };
    rollouts.pollRollout({ ...name, JobVersion: job.Version + 1 });
    rollouts.pollRollout({ ...name, JobID: 'other' });
    await cluster.time.pass(1);
    expect(polls()).toBe(1);
    rollouts.pollRollout(name);
    rollouts.pollRollout(name); // during the poll: it is remembered, and once is enough
    rollouts.pollRollout(name);
    await cluster.time.pass(1);
    expect(polls()).toBe(3);
    await cluster.time.pass(POLL_MS - 2);
    expect(polls()).toBe(3);
    await cluster.time.pass(2);
    expect(polls()).toBe(4);
  });

  it('DP-1134: ends with the term, and with the deployment', async () => {
    const over = inWest(['west', 'east'], 'running', { east: { Status: 'running' } });
    await over.begin();
    over.rollouts.beginRollout(over.stored());
    over.rollouts.stop(); // during the second poll
    await over.cluster.time.pass(10 * POLL_MS);
    expect([over.polls(), over.cluster.time.pending]).toEqual([2, 0]);
    const done = inWest(['west', 'east'], 'running', { east: { Status: 'running' } });
    await done.begin();
    await done.cluster.commands.fail(done.stored().ID, {});
    await done.cluster.time.pass(10 * POLL_MS);
    expect([done.polls(), done.rollouts.size]).toEqual([1, 0]);
  });

  it('DP-1134: of a deployment that is gone end by themselves, and command nobody', async () => {
    const gone = ({ cluster, stored }: ReturnType<typeof inWest>) =>
      cluster.state.tables.deployment.replace(stored().ID, undefined);
    const before = inWest(['west', 'east'], 'blocked', { east: { Status: 'pending' } });
    const deployment = before.stored();
    gone(before);
    before.rollouts.beginRollout(deployment);
    await before.cluster.time.pass(10 * POLL_MS);
    expect([before.asked, before.cluster.time.pending]).toEqual([[], 0]);
    const during = inWest(['west', 'east'], 'blocked', { east: { Status: 'pending' } });
    during.rollouts.beginRollout(during.stored());
    gone(during);
    await during.cluster.time.pass(10 * POLL_MS);
    expect([during.polls(), during.commanded(), during.cluster.time.pending]).toEqual([1, [], 0]);
  });

  it('DP-1136: a region that answers `Permission denied` counts as one that does not answer, and goes on when it does', async () => {
    const peers: Record<string, Peer> = { east: { Status: 'pending', isForbidden: true } };
    const { cluster, begin, stored, rollouts, asked } = inWest(['west', 'east'], 'pending', peers, {
      Strategy: strategy(1, 'fail_all'),
    });
    await begin();
    expect(stored().Status).toBe('pending');
    expect(rollouts.contactOf('east')).toEqual({ calls: 1, errors: 1 });
    delete peers['east']?.isForbidden;
    await cluster.time.pass(2 * POLL_MS);
    expect(stored().Status).toBe('running');
    expect(JSON.stringify(asked)).not.toMatch(/token|secret/i);
  });

  it('DP-1308: counts calls and errors of each region', async () => {
    const { begin, rollouts } = inWest(['west', 'east', 'north'], 'running', { east: { Status: 'running' } });
    await begin();
    expect([rollouts.contactOf('east'), rollouts.contactOf('north')]).toEqual([
      { calls: 1, errors: 0 },
      { calls: 1, errors: 1 },
    ]);
  });
});

describe('announcements', () => {
  it('DP-1119: a change of status is announced to the other regions of the job; another change is not', async () => {
    const { cluster, asked, stored, job } = inWest(['west', 'east', 'north'], 'running', {});
    const announced = () => asked.filter(({ call }) => call === rolloutChanged.name);
    cluster.plan(job, { Deployment: { ...stored(), TaskGroups: {} } });
    expect(announced()).toEqual([]);
    await cluster.commands.pause(stored().ID, true, {});
    const request = { Namespace: 'default', JobID: 'web', JobVersion: job.Version };
    expect(announced()).toEqual(['east', 'north'].map((region) => ({ region, call: rolloutChanged.name, request })));
  });

  it('a deployment whose job is gone announces nothing', () => {
    const { cluster, asked, stored, rollouts } = inWest(['west', 'east'], 'running', {});
    cluster.state.tables.jobs.replace('default/web', undefined);
    cluster.state.tables.job_version.replace(`default/web@${stored().JobVersion}`, undefined);
    rollouts.deploymentChanged(stored().ID, stored(), { ...stored(), Status: 'failed' });
    expect(asked).toEqual([]);
  });
});

describe('what a region says of its part', () => {
  it('DP-1119, DP-1127: status and history of the newest deployment of the version, else whether the version is stable', () => {
    const { tables } = fixtures.aMachine();
    const name = { Namespace: 'default', JobID: 'web', JobVersion: 3 };
    expect(progressHere(tables, name)).toEqual({ DeploymentID: '', Status: 'none', HasRun: false });
    const version = (Stable: boolean) => {
      tables.job_version.replace('default/web@3', fixtures.aJob({ Version: 3, Stable }));
      return progressHere(tables, name).Status;
    };
    expect([version(false), version(true)]).toEqual(['none', 'successful']);
    const put = (over: Partial<Deployment>) => {
      const row = fixtures.aDeployment({ JobVersion: 3, IsMultiregion: true, ...over });
      tables.deployment.replace(row.ID, row);
      return row.ID;
    };
    put({ IsMultiregion: false, CreateIndex: 99 });
    put({ JobVersion: 4, CreateIndex: 98 });
    expect(progressHere(tables, name).Status).toBe('successful');
    const newest = put({ CreateIndex: 9, Status: 'paused', HasRun: true });
    put({ CreateIndex: 5, Status: 'failed' });
    expect(progressHere(tables, name)).toEqual({ DeploymentID: newest, Status: 'paused', HasRun: true });
    const last = put({ CreateIndex: 10, Status: 'running' });
    expect(progressHere(tables, name)).toEqual({ DeploymentID: last, Status: 'running', HasRun: false });
  });
});
