import type { Plan } from '@waybill/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, RolloutCluster, tasksOf, UPDATE } from '../support/rollout-cluster.js';

/** Just before a plan is applied: the scheduler has not seen what happens. Or just after it. */
const ORDERS = ['before', 'after'] as const;

let cluster: RolloutCluster;
beforeEach(async () => {
  cluster = await RolloutCluster.start(5);
});
afterEach(() => cluster.stop());

const placesOf = (version: number) => (plan: Plan) =>
  plan.Job?.Version === version && Object.values(plan.NodeAllocation).flat().length > 0;
const ends = (plan: Plan) => plan.DeploymentUpdates.some((update) => update.Status === 'successful');
const all = { all: true, groups: [], promotedAtNs: 0 };

/** Version 0 of `web`, rolled out. */
async function firstVersion(): Promise<void> {
  await cluster.register({ web: { Tasks: tasksOf(0) } });
  await cluster.until('successful');
}

async function secondVersion(update: Partial<typeof UPDATE> = {}) {
  await cluster.register({ web: { Tasks: tasksOf(1), Update: { ...UPDATE, ...update } } });
  return cluster.passUntil('its deployment', () => cluster.deployments().find((d) => d.JobVersion === 1));
}

describe.each(ORDERS)('a plan of a service lands, and %s that', (when) => {
  it('DP-125, DP-E14: the operator pauses: it stays paused, and resumed it ends as if nothing had been', async () => {
    await firstVersion();
    const { ID } = await secondVersion();
    const raced = cluster.aroundPlan(when, placesOf(1), () => cluster.commands.pause(ID, true, {}));
    await cluster.time.pass(30 * MINUTE);
    await raced;
    expect(cluster.deployment()).toMatchObject({ Status: 'paused', StatusDescription: 'Deployment is paused' });
    expect(cluster.live(1)).toHaveLength(2); // the round that was under way, and no other
    await cluster.commands.pause(ID, false, {});
    const { TaskGroups } = await cluster.until('successful');
    expect(TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3, UnhealthyAllocs: 0 });
  });

  it('DP-126, DP-203, DP-204: the operator fails what is about to be successful: the first one counts', async () => {
    await firstVersion();
    const { ID } = await secondVersion();
    let refusal = '';
    const raced = cluster.aroundPlan(when, ends, () =>
      cluster.commands.fail(ID, {}).catch((error: Error) => (refusal = error.message)),
    );
    await cluster.time.pass(MINUTE);
    await raced;
    const failedFirst = when === 'before';
    expect(cluster.deployment()!.Status).toBe(failedFirst ? 'failed' : 'successful');
    expect(refusal).toBe(failedFirst ? '' : "can't fail terminal deployment");
    expect(cluster.tables.job_version.get('default/web@1')!.Stable).toBe(!failedFirst);
  });

  it('DP-123, DP-E14: an allocation becomes healthy: it is counted once and nothing is lost', async () => {
    await firstVersion();
    await secondVersion({ MaxParallel: 2 });
    const [first, second] = await cluster.passUntil(
      'two are placed',
      () => cluster.live(1).length === 2 && cluster.live(1),
    );
    const raced = cluster.aroundPlan(when, placesOf(1), () => cluster.report(second!, 'running', true));
    await cluster.report(first!, 'running', true);
    const { TaskGroups } = await cluster.until('successful');
    await raced;
    expect(TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3, UnhealthyAllocs: 0 });
  });

  it('DP-208, DP-211: a newer version is registered: one rollout is left, and it is the newer one', async () => {
    await firstVersion();
    await secondVersion();
    const raced = cluster.aroundPlan(when, placesOf(1), () => cluster.register({ web: { Tasks: tasksOf(2) } }));
    await cluster.passUntil('the newer one ended', () =>
      cluster.deployments().some((d) => d.JobVersion === 2 && d.Status === 'successful'),
    );
    await raced;
    expect(cluster.deployments().map((d) => [d.JobVersion, d.Status])).toEqual([
      [2, 'successful'],
      [1, 'cancelled'],
      [0, 'successful'],
    ]);
    expect(cluster.live()).toHaveLength(3);
    expect(cluster.live(2)).toHaveLength(3);
  });
});

describe.each(ORDERS)('a plan of a system job, which carries its deployment each time, lands, and %s that', (when) => {
  const group = (version: number, update: Partial<typeof UPDATE> = {}) => ({
    web: { Tasks: tasksOf(version), Update: { ...UPDATE, MaxParallel: 2, ...update } },
  });
  const carriesDeployment = (plan: Plan) => plan.Job?.Version === 1 && plan.Deployment !== null;

  beforeEach(async () => {
    await cluster.register(group(0), { Type: 'system' });
    await cluster.until('successful');
  });

  it('DP-124, DP-1607: the canaries are promoted: never undone, all machines follow', async () => {
    await cluster.register(group(1, { Canary: 20 }), { Type: 'system' });
    const canary = await cluster.passUntil('a healthy canary', () =>
      cluster.live(1).find((alloc) => alloc.DeploymentStatus?.Healthy === true),
    );
    const raced = cluster.aroundPlan(when, carriesDeployment, () =>
      cluster.commands.promote(canary.DeploymentID, all, {}),
    );
    await cluster.addNode(); // one more to run on: the plan carries the deployment
    const ended = await cluster.until('successful');
    await raced;
    const refused = cluster.plane.state.history.flatMap(({ verdict }) => ('error' in verdict ? [verdict.error] : []));
    expect(refused).toEqual(when === 'before' ? ['deployment promotion cannot be undone'] : []);
    expect(ended.TaskGroups['web']).toMatchObject({ Promoted: true, DesiredTotal: 6, HealthyAllocs: 6 });
    expect(cluster.live(1)).toHaveLength(6);
    expect(cluster.live()).toHaveLength(6);
  });

  it('DP-125: the operator pauses: it stays paused and no machine more is updated', async () => {
    await cluster.register(group(1), { Type: 'system' });
    const { ID } = await cluster.passUntil('its deployment', () =>
      cluster.deployments().find((d) => d.JobVersion === 1),
    );
    const raced = cluster.aroundPlan(when, carriesDeployment, () => cluster.commands.pause(ID, true, {}));
    await cluster.addNode();
    await cluster.time.pass(MINUTE);
    await raced;
    expect(cluster.deployment()!.Status).toBe('paused');
    const updated = cluster.live(1).length;
    await cluster.time.pass(30 * MINUTE);
    expect(cluster.live(1)).toHaveLength(updated);
    await cluster.commands.pause(ID, false, {});
    await cluster.until('successful');
    expect(cluster.live(1)).toHaveLength(6);
  });

  it('DP-123: an allocation becomes healthy: the counters keep it', async () => {
    await cluster.register(group(1), { Type: 'system' });
    const [first] = await cluster.passUntil('two are placed', () => cluster.live(1).length === 2 && cluster.live(1));
    const raced = cluster.aroundPlan(when, carriesDeployment, () => cluster.report(first!, 'running', true));
    await cluster.addNode();
    const { TaskGroups } = await cluster.until('successful');
    await raced;
    expect(TaskGroups['web']).toMatchObject({ DesiredTotal: 6, PlacedAllocs: 6, HealthyAllocs: 6 });
  });
});
