import { beforeEach, describe, expect, it } from 'vitest';
import { CollectingFixture, HOUR_MS, MINUTE_MS } from './collecting.fixture.js';

let world: CollectingFixture;

beforeEach(() => {
  world = new CollectingFixture();
});

describe('collecting deployments', () => {
  it.each([
    ['failed', true],
    ['successful', true],
    ['cancelled', true],
    ['running', false],
    ['paused', false],
    ['blocked', false],
    ['unblocking', false],
    ['initializing', false],
    ['pending', false],
  ] as const)('GC-53 GC-103, ST-167: one that is %s goes: %s', async (Status, goes) => {
    world.deployment({ Status });
    await world.run('deployment-gc');
    expect(world.tables.deployment.size).toBe(goes ? 0 : 1);
  });

  it.each([
    [HOUR_MS, 0],
    [HOUR_MS - 1, 1],
  ])('GC-53, DP-1401, ST-166: after an hour (%s ms: %s left)', async (age, left) => {
    world.deployment({ ModifyTime: world.ago(age) });
    await world.run('deployment-gc');
    expect(world.tables.deployment.size).toBe(left);
  });

  it('GC-53 GC-54 DP-1401: not while one of its allocations lives, however old', async () => {
    const { ID: DeploymentID } = world.deployment({ Status: 'successful', ModifyTime: 0 });
    const evaluation = { ID: 'eval', JobID: 'web' };
    const alloc = world.alloc(evaluation, { DeploymentID, ClientStatus: 'running' });
    world.alloc(evaluation, { DeploymentID });
    await world.run('force-gc');
    expect(world.tables.deployment.size).toBe(1);
    world.alloc(evaluation, { ID: alloc.ID, DeploymentID });
    await world.run('deployment-gc');
    expect(world.tables.deployment.size).toBe(0);
  });

  it('DP-1402, race 17: one that failed long ago and was written a minute ago stays this time', async () => {
    world.deployment({ ModifyTime: world.ago(MINUTE_MS), StatusDescription: 'looked at' });
    await world.run('deployment-gc');
    expect(world.tables.deployment.size).toBe(1);
  });
});
