import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { WatchedCluster } from '../watching/watched-rollout.fixture.js';

const { aJob } = fixtures;
const ALL = { all: true, groups: [], promotedAtNs: 0 };

function rollingOut(groups: Parameters<WatchedCluster['rollout']>[0] = { web: { placed: 2 } }) {
  const cluster = new WatchedCluster();
  cluster.lead();
  return { cluster, rollout: cluster.rollout(groups), commands: cluster.commands };
}

describe('operator commands', () => {
  it('DP-901: pausing makes no evaluation and may be repeated', async () => {
    const { cluster, rollout, commands } = rollingOut();
    for (let i = 0; i < 2; i++)
      expect(await commands.pause(rollout.id, true, {})).toEqual({
        evalId: '',
        index: cluster.state.appliedIndex,
        revertedVersion: null,
      });
    expect(rollout.deployment).toMatchObject({ Status: 'paused', StatusDescription: 'Deployment is paused' });
    expect(rollout.evaluations).toEqual([]);
  });

  it('DP-902: resuming makes an evaluation each time, with the plain text', async () => {
    const { rollout, commands } = rollingOut({ web: { placed: 1, DesiredCanaries: 1 } });
    await commands.pause(rollout.id, true, {});
    await commands.pause(rollout.id, false, {});
    await commands.pause(rollout.id, false, {});
    expect(rollout.deployment).toMatchObject({ Status: 'running', StatusDescription: 'Deployment is running' });
    expect(rollout.evaluations).toHaveLength(2);
  });

  it('DP-1118: what waits for other regions is neither paused nor set running by a resume', async () => {
    const { cluster, rollout, commands } = rollingOut();
    const update = { DeploymentID: rollout.id, Status: 'blocked' as const, StatusDescription: '' };
    cluster.plan(rollout.job, { DeploymentUpdates: [update] });
    await expect(commands.pause(rollout.id, true, {})).rejects.toThrow('can\'t pause deployment in status "blocked"');
    const index = rollout.deployment.ModifyIndex;
    expect(await commands.pause(rollout.id, false, {})).toEqual({ evalId: '', index, revertedVersion: null });
    expect(rollout.deployment.Status).toBe('blocked');
  });

  it('API-215, DP-905 DP-802 DP-803: failing says so, and goes back if a group wants it', async () => {
    const { rollout, commands } = rollingOut();
    const { evalId, revertedVersion } = await commands.fail(rollout.id, {});
    expect(revertedVersion).toBeNull();
    expect(rollout.deployment.StatusDescription).toBe('Deployment marked as failed');
    expect(rollout.evaluations.map((e) => e.ID)).toEqual([evalId]);
  });

  it('DP-1203 DP-1204 API-211: unknown and finished ones are refused by command, and nothing changes', async () => {
    const { cluster, rollout, commands } = rollingOut();
    const asked = {
      fail: (id: string) => commands.fail(id, {}),
      pause: (id: string) => commands.pause(id, true, {}),
      resume: (id: string) => commands.pause(id, false, {}),
      promote: (id: string) => commands.promote(id, ALL, {}),
      unblock: (id: string) => commands.unblock(id, {}),
      'set health of allocations for a': (id: string) => commands.setHealth(id, { healthy: ['x'], unhealthy: [] }, {}),
    };
    await expect(commands.unblock(rollout.id, {})).rejects.toThrow("can't unblock running deployment");
    await commands.fail(rollout.id, {});
    const index = cluster.state.appliedIndex;
    for (const [verb, ask] of Object.entries(asked)) {
      await expect(ask('gone')).rejects.toThrow('deployment not found');
      await expect(ask('')).rejects.toThrow('missing deployment ID');
      await expect(ask(rollout.id)).rejects.toThrow(`can't ${verb} terminal deployment`);
    }
    expect(cluster.state.appliedIndex).toBe(index);
  });

  it('DP-851 DP-856: promotion with too few healthy canaries is refused in full; a paused one may be promoted', async () => {
    const { rollout, commands } = rollingOut({ web: { placed: 1, DesiredCanaries: 1 } });
    await expect(commands.promote(rollout.id, ALL, {})).rejects.toThrow(
      '1 error occurred:\n\t* Task group "web" has 0/1 healthy allocations\n\n',
    );
    expect(rollout.evaluations).toEqual([]);
    rollout.report(true, rollout.allocs[0]);
    await commands.pause(rollout.id, true, {});
    expect((await commands.promote(rollout.id, ALL, {})).evalId).not.toBe('');
    expect(rollout.deployment).toMatchObject({ Status: 'paused', TaskGroups: { web: { Promoted: true } } });
  });

  it('API-213, DP-906 DP-910 DP-1205: health needs an id, even before the deployment is looked up; it makes an evaluation', async () => {
    const { rollout, commands } = rollingOut();
    await expect(commands.setHealth('gone', { healthy: [], unhealthy: [] }, {})).rejects.toThrow(
      'must specify at least one healthy/unhealthy allocation ID',
    );
    await commands.setHealth(rollout.id, { healthy: [rollout.allocs[0]!.ID], unhealthy: [] }, {});
    expect(rollout.deployment).toMatchObject({ Status: 'running', TaskGroups: { web: { HealthyAllocs: 1 } } });
    expect(rollout.evaluations).toHaveLength(1);
  });

  it('DP-907: an unknown allocation refuses the request', async () => {
    const { rollout, commands } = rollingOut();
    await expect(commands.setHealth(rollout.id, { healthy: ['nobody'], unhealthy: [] }, {})).rejects.toThrow(
      'unknown alloc "nobody"',
    );
  });

  it('DP-909 DP-803: an unhealthy one fails it whatever the deadline; no stable version is not mentioned', async () => {
    const { rollout, commands } = rollingOut({ web: { placed: 1, AutoRevert: true } });
    await commands.setHealth(rollout.id, { healthy: [], unhealthy: [rollout.allocs[0]!.ID] }, {});
    expect(rollout.deployment).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations',
    });
  });

  it('API-213, DP-909 DP-805: with a stable version it goes back to it in the same transaction', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    cluster.register(aJob({ Priority: 40 }));
    cluster.write('JobStability', { JobID: 'web', JobVersion: 0, Stable: true });
    const rollout = cluster.rollout({ web: { placed: 1, AutoRevert: true } });
    const ids = { healthy: [], unhealthy: [rollout.allocs[0]!.ID] };
    const { revertedVersion, index } = await cluster.commands.setHealth(rollout.id, ids, {});
    expect(revertedVersion).toBe(0);
    expect(rollout.jobNow).toMatchObject({ Version: 2, Priority: 40, ModifyIndex: index });
    expect(rollout.deployment.StatusDescription).toBe(
      'Failed due to unhealthy allocations - rolling back to job version 0',
    );
  });

  it('DP-803: of a group that does not revert the job stays as it is, also with a stable version', async () => {
    const cluster = new WatchedCluster();
    cluster.lead();
    cluster.register(aJob({ Priority: 40 }));
    cluster.write('JobStability', { JobID: 'web', JobVersion: 0, Stable: true });
    const rollout = cluster.rollout({ web: { placed: 1, AutoRevert: false } });
    const ids = { healthy: [], unhealthy: [rollout.allocs[0]!.ID] };
    expect(await cluster.commands.setHealth(rollout.id, ids, {})).toMatchObject({ revertedVersion: null });
    expect([rollout.deployment.Status, rollout.jobNow.Version]).toEqual(['failed', 1]);
  });

  it('DP-125 DP-126: a plan from before does not undo a pause, nor follow a failure, whichever comes first', async () => {
    for (const command of ['paused', 'failed'] as const) {
      const { cluster, rollout, commands } = rollingOut();
      const stale = rollout.deployment;
      const ask = () => (command === 'paused' ? commands.pause(rollout.id, true, {}) : commands.fail(rollout.id, {}));
      cluster.plan(rollout.job, { Deployment: stale });
      await ask();
      const DeploymentUpdates =
        command === 'failed'
          ? [{ DeploymentID: rollout.id, Status: 'successful' as const, StatusDescription: 'late' }]
          : [];
      cluster.plan(rollout.job, { Deployment: stale, DeploymentUpdates });
      expect(rollout.deployment.Status).toBe(command);
    }
  });

  it('DP-123 DP-E14: a health report and a plan made without it, ordered both ways, count it once', () => {
    for (const planFirst of [true, false]) {
      const { cluster, rollout } = rollingOut();
      const stale = rollout.deployment;
      if (planFirst) cluster.plan(rollout.job, { Deployment: stale });
      rollout.report(true, rollout.allocs[0]);
      if (!planFirst) cluster.plan(rollout.job, { Deployment: stale });
      expect(rollout.deployment.TaskGroups['web']).toMatchObject({ HealthyAllocs: 1, PlacedAllocs: 2 });
    }
  });

  it('DP-903: a pause that comes with the deadline: the first one in the log stands, the other goes by it', async () => {
    const { cluster, rollout, commands } = rollingOut();
    await cluster.time.pass(600_000 - 1);
    cluster.time.freeze(1);
    await commands.pause(rollout.id, true, {});
    await cluster.time.pass(0);
    expect(rollout.deployment.Status).toBe('paused');
    expect(cluster.written('DeploymentStatusUpdate').map((p) => p.Update.Status)).toEqual(['paused']);

    const other = rollingOut();
    await other.cluster.time.pass(600_000);
    await expect(other.commands.pause(other.rollout.id, true, {})).rejects.toThrow("can't pause terminal deployment");
  });

  it('DP-1805 DP-1806: who asked, why and with which id is in the transaction, and the role', async () => {
    const { cluster, rollout, commands } = rollingOut();
    const actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' } as const;
    await commands.pause(rollout.id, true, { actor, reason: 'lunch', requestId: 'r1' });
    const { txn } = cluster.state.history.at(-1)!;
    expect(txn).toMatchObject({ actor, reason: 'lunch', requestId: 'r1', fence: { role: 'deployments', epoch: 1 } });
    await commands.pause(rollout.id, false, { actor, reason: '', requestId: 'r1' }).catch(() => undefined);
    expect(rollout.deployment.Status).toBe('paused');
  });
});
