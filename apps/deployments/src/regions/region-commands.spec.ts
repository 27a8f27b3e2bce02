import type { Deployment } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { WatchedCluster } from '../watching/watched-rollout.fixture.js';
import { RegionCommands } from './region-commands.js';

/** This region's part of a rollout. */
function regional(Status: Deployment['Status']) {
  const cluster = new WatchedCluster();
  cluster.lead();
  const job = cluster.register(fixtures.aJob());
  const { ID } = fixtures.aDeployment();
  cluster.plan(job, {
    Deployment: fixtures.aDeployment({
      ID,
      Status,
      IsMultiregion: true,
      JobVersion: job.Version,
      JobCreateIndex: job.CreateIndex,
    }),
  });
  const stored = () => cluster.state.tables.deployment.get(ID)!;
  const evaluations = () => [...cluster.state.tables.evals.by('deployment', ID)].length;
  return { cluster, id: ID, stored, evaluations, regions: new RegionCommands(() => cluster.watchers.watching) };
}

describe('a region whose turn has come', () => {
  it('DP-1114: runs what is pending, with one evaluation, and no second time', async () => {
    const { id, stored, evaluations, regions } = regional('pending');
    await regions.start(id, {});
    expect(stored()).toMatchObject({ Status: 'running', StatusDescription: 'Deployment is running', HasRun: true });
    expect(evaluations()).toBe(1);
    await regions.start(id, {});
    expect(evaluations()).toBe(1);
  });

  it('DP-904, DP-1114: leaves alone what an operator has paused', async () => {
    const { cluster, id, stored, evaluations, regions } = regional('pending');
    await cluster.commands.pause(id, true, {});
    const index = stored().ModifyIndex;
    expect(await regions.start(id, {})).toEqual({ evalId: '', index, revertedVersion: null });
    expect(stored()).toMatchObject({ Status: 'paused', ModifyIndex: index });
    expect(evaluations()).toBe(0);
  });

  it('DP-1114: refuses what is not planned yet', async () => {
    const { id, regions, stored } = regional('initializing');
    await expect(regions.start(id, {})).rejects.toThrow("can't run deployment before it is planned, ask again");
    expect(stored().Status).toBe('initializing');
  });

  it('DP-1118: what was paused before its turn waits again when it is resumed, without an evaluation', async () => {
    const { cluster, id, stored, evaluations, regions } = regional('pending');
    await cluster.commands.pause(id, true, {});
    await cluster.commands.pause(id, false, {});
    expect(stored()).toMatchObject({
      Status: 'pending',
      StatusDescription: 'Deployment is pending, waiting for peer region',
    });
    expect(evaluations()).toBe(0);
    await regions.start(id, {});
    await cluster.commands.pause(id, true, {});
    await cluster.commands.pause(id, false, {});
    expect(stored().Status).toBe('running');
    expect(evaluations()).toBe(2);
  });
});

describe('the end of a rollout', () => {
  it('DP-1121: begins to unblock what is blocked, once and without an evaluation', async () => {
    const { id, stored, evaluations, regions } = regional('blocked');
    await regions.beginUnblocking(id, {});
    expect(stored()).toMatchObject({ Status: 'unblocking' });
    const index = stored().ModifyIndex;
    expect(await regions.beginUnblocking(id, {})).toEqual({ evalId: '', index, revertedVersion: null });
    expect(evaluations()).toBe(0);
  });

  it.each(['blocked', 'unblocking'] as const)('DP-1117: what is %s succeeds, with an evaluation', async (status) => {
    const { id, stored, evaluations, regions } = regional(status);
    await regions.unblock(id, {});
    expect(stored()).toMatchObject({
      Status: 'successful',
      StatusDescription: 'Deployment completed successfully',
    });
    expect(evaluations()).toBe(1);
    await expect(regions.unblock(id, {})).rejects.toThrow("can't unblock terminal deployment");
  });

  it('DP-1117: what still runs is not unblocked', async () => {
    const { id, stored, regions } = regional('running');
    await expect(regions.unblock(id, {})).rejects.toThrow("can't unblock running deployment");
    expect(stored().Status).toBe('running');
  });

  it('DP-1123: a failure elsewhere fails this part and says so', async () => {
    const { id, stored, evaluations, regions } = regional('running');
    const { evalId, revertedVersion } = await regions.fail(id, {});
    expect(stored()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed because of an error in peer region',
    });
    expect([evaluations(), evalId === '', revertedVersion]).toEqual([1, false, null]);
  });
});
