import type { Deployment, Job } from '@waybill/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, RolloutCluster, tasksOf, UPDATE } from '../support/rollout-cluster.js';

const NODES = 5;

let cluster: RolloutCluster;
beforeEach(async () => {
  cluster = await RolloutCluster.start(NODES);
});
afterEach(() => cluster.stop());

const register = (version: number, update: Partial<typeof UPDATE> = {}, over: Partial<Job> = {}) =>
  cluster.register({ web: { Tasks: tasksOf(version), Update: { ...UPDATE, ...update } } }, { Type: 'system', ...over });

async function firstVersion(update: Partial<typeof UPDATE> = {}): Promise<Deployment> {
  await register(0, update);
  return cluster.until('successful');
}

const web = () => cluster.deployment()!.TaskGroups['web']!;
const unproven = () => cluster.live(1).filter((alloc) => alloc.DeploymentStatus?.Healthy !== true).length;

describe('rollouts of system jobs, with scheduler, watcher and machines', () => {
  it('DP-1601, DP-1605, DP-207: on every machine at once at first, then max_parallel at a time, each step healthy', async () => {
    expect((await firstVersion()).TaskGroups['web']).toMatchObject({ DesiredTotal: NODES, HealthyAllocs: NODES });
    await register(1, { MaxParallel: 2 });
    let most = 0;
    await cluster.passUntil('successful', () => {
      most = Math.max(most, unproven());
      return cluster.deployment()!.JobVersion === 1 && cluster.deployment()!.Status === 'successful';
    });
    expect(most).toBe(2);
    expect(web()).toMatchObject({ DesiredTotal: NODES, PlacedAllocs: NODES, HealthyAllocs: NODES });
    expect(new Set(cluster.live(1).map((alloc) => alloc.NodeID)).size).toBe(NODES);
    expect(cluster.live()).toHaveLength(NODES);
    expect(cluster.tables.job_version.get('default/web@1')!.Stable).toBe(true);
  });

  it('DP-1602, DP-1603: a machine that joins a rollout is counted; one that joins later begins none', async () => {
    await register(0);
    await cluster.time.pass(1_000);
    await cluster.addNode();
    const ended = await cluster.until('successful');
    expect(ended.TaskGroups['web']).toMatchObject({ DesiredTotal: NODES + 1, HealthyAllocs: NODES + 1 });
    await cluster.addNode();
    await cluster.time.pass(MINUTE);
    expect(cluster.live()).toHaveLength(NODES + 2);
    await cluster.report(cluster.live()[0]!, 'failed');
    await cluster.evaluate('web', 'node-update');
    await cluster.time.pass(MINUTE);
    expect(cluster.live().filter((alloc) => alloc.ClientStatus === 'running')).toHaveLength(NODES + 2);
    expect(cluster.deployments()).toHaveLength(1);
  });

  it('DP-1604, DP-1605, DP-858: a share of the machines first; beyond it nothing until somebody agrees', async () => {
    await firstVersion({ Canary: 40 }); // the first version has none
    await register(1, { Canary: 40, MaxParallel: 3 });
    await cluster.time.pass(30 * MINUTE);
    expect(cluster.deployment()).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running but requires manual promotion',
    });
    expect(web()).toMatchObject({ DesiredCanaries: 2, HealthyAllocs: 2, DesiredTotal: NODES, Promoted: false });
    await cluster.addNode(); // gets the new version, and is no canary
    await cluster.time.pass(MINUTE);
    expect(cluster.live(1).map((alloc) => alloc.DeploymentStatus?.Canary ?? false)).toEqual([true, true, false]);
    expect(web().PlacedCanaries).toHaveLength(2);
    await cluster.commands.promote(cluster.deployment()!.ID, { all: true, groups: [], promotedAtNs: 0 }, {});
    await cluster.until('successful');
    expect(web()).toMatchObject({ Promoted: true, DesiredTotal: NODES + 1, HealthyAllocs: NODES + 1 });
    await register(2, { Canary: 40, MaxParallel: 3, AutoPromote: true });
    await cluster.until('successful');
    expect(cluster.live(2)).toHaveLength(NODES + 1);
  });

  it('DP-703, DP-1601: the first unhealthy one fails it, and nothing that worked is touched', async () => {
    await firstVersion();
    cluster.health = (alloc) => alloc.Job?.Version !== 1;
    await register(1);
    await cluster.time.pass(10 * MINUTE);
    expect(cluster.deployment()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations',
    });
    expect(cluster.live(0)).toHaveLength(NODES - 1);
  });

  it('DP-805, DP-809: told to, it goes back to what was stable, on the machine that it had reached', async () => {
    await firstVersion();
    cluster.health = (alloc) => alloc.Job?.Version !== 1;
    await register(1, { AutoRevert: true });
    await cluster.passUntil('version 2 ended', () =>
      cluster.deployments().some((d) => d.JobVersion === 2 && d.Status === 'successful'),
    );
    expect(cluster.deployments().find((d) => d.JobVersion === 1)).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to unhealthy allocations - rolling back to job version 0',
    });
    expect(cluster.live(2)).toHaveLength(NODES);
  });

  it('DP-1606, DP-508: its clock runs from the start: machines that never say anything fail it', async () => {
    cluster.health = () => undefined;
    await register(0, { ProgressDeadline: 60e9, HealthyDeadline: 30e9 });
    await cluster.time.pass(59_000);
    expect(cluster.deployment()!.Status).toBe('running');
    await cluster.time.pass(2_000);
    expect(cluster.deployment()).toMatchObject({
      Status: 'failed',
      StatusDescription: 'Failed due to progress deadline',
    });
  });

  it('DP-E25, DP-1608: paused after the second machine, then failed: no third one, whatever evaluation comes', async () => {
    await firstVersion();
    await register(1);
    const { ID } = await cluster.passUntil('two are healthy', () => web().HealthyAllocs === 2 && cluster.deployment());
    await cluster.commands.pause(ID, true, {});
    const reached = cluster.live(1).length;
    expect(reached).toBeLessThanOrEqual(3); // the step after the second may have begun
    const nothingMoves = async () => {
      await cluster.evaluate('web', 'job-register');
      await cluster.time.pass(10 * MINUTE);
      expect(cluster.live(1)).toHaveLength(reached);
    };
    await nothingMoves();
    await cluster.commands.fail(ID, {});
    await nothingMoves();
    await cluster.addNode();
    await cluster.time.pass(MINUTE);
    expect(cluster.live()).toHaveLength(NODES + 1);
  });

  it('DP-112: evaluations of its rollout have the priority of the job', async () => {
    await register(0, {}, { Priority: 70 });
    await cluster.until('successful');
    expect(cluster.deployment()!.EvalPriority).toBe(70);
  });

  it('DP-604: the holder goes in the middle, again and again; it ends as if it had not', async () => {
    await firstVersion();
    await register(1, { MaxParallel: 2 });
    for (let i = 0; i < 12; i++) {
      await cluster.time.pass(700);
      await cluster.lead();
    }
    await cluster.until('successful');
    expect(web()).toMatchObject({ PlacedAllocs: NODES, HealthyAllocs: NODES });
  });
});
