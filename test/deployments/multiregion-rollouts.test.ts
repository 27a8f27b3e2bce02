import { RpcContext } from '@waybill/rpc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, UPDATE } from '../support/rollout-cluster.js';
import { SimulatedRegions } from '../support/simulated-regions.js';

let regions: SimulatedRegions;
beforeEach(async () => {
  regions = await SimulatedRegions.start('west', 'east', 'north');
});
afterEach(() => regions.stop());

/** What is started there fails at once. */
const breakIn = (name: string): void => {
  regions.at(name).health = () => false;
};
const byOperator = {};
const WEST_WORKS = ['running', 'pending', 'pending'] as const;
const EAST_WORKS = ['blocked', 'running', 'pending'] as const;
const noRetries = { Update: { ...UPDATE, ProgressDeadline: 0 } };

describe('a rollout over three regions', () => {
  it('DP-S17, DP-1109, DP-1114, DP-1121: one after the other, never two at once, then all successful', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether).toEqual([['west'], ['east'], ['north']]);
    for (const name of ['west', 'east', 'north']) {
      expect(regions.at(name).live()).toHaveLength(2);
      expect(regions.at(name).tables.job_version.get('default/web@0')).toMatchObject({ Stable: true, Region: name });
    }
  });

  it('DP-1116: without a limit all at once; with two, two', async () => {
    await regions.register({ MaxParallel: 0 });
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether.some((running) => running.length === 3)).toBe(true);
    regions.runningTogether.length = 0;
    await regions.register({ MaxParallel: 2 });
    await regions.until('successful', 'successful', 'successful');
    expect(Math.max(...regions.runningTogether.map((running) => running.length))).toBe(2);
  });

  it('DP-1110, DP-E18: an evaluation of a region whose turn it is not starts nothing', async () => {
    regions.at('west').health = () => undefined;
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    await regions.at('east').evaluate('web', 'node-update');
    await regions.time.pass(MINUTE);
    expect(regions.statuses).toEqual(['running', 'pending', 'pending']);
    expect(regions.at('east').live()).toEqual([]);
  });

  it('DP-211, DP-1107: a new version in the middle cancels the one before everywhere, and is rolled out', async () => {
    regions.at('west').health = () => undefined;
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    regions.at('west').health = () => true;
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    for (const name of ['west', 'east', 'north'])
      expect(
        regions
          .at(name)
          .deployments('web')
          .map((d) => d.Status),
      ).toEqual(['successful', 'cancelled']);
  });

  it('DP-E26, DP-119, DP-508: a change in place alone still waits for its turn in each region', async () => {
    await regions.register({}, { Tasks: [] });
    await regions.until('successful', 'successful', 'successful');
    regions.runningTogether.length = 0;
    const Constraints = [{ LTarget: '${node.datacenter}', Operand: 'is_set', RTarget: '' }];
    await regions.register({}, { Tasks: [], Constraints });
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether).toEqual([['west'], ['east'], ['north']]);
  });
});

describe('what is not held back', () => {
  it('DP-1111: what is lost or asked for in one region is put right there, in no deployment and without the others', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    const east = regions.at('east');
    const [node] = east.live();
    await east.addNode();
    await east.nodeIs(node!.NodeID, 'down');
    await regions.time.pass(MINUTE);
    expect(east.live().filter((alloc) => alloc.NodeID !== node!.NodeID)).toHaveLength(2);
    expect(regions.statuses).toEqual(['successful', 'successful', 'successful']);
    for (const name of ['west', 'east', 'north']) expect(regions.at(name).deployments('web')).toHaveLength(1);
    expect(regions.at('west').live()).toHaveLength(2);
  });

  describe.each([
    ['pending', 'east', 'west', 'paused'],
    ['blocked', 'west', 'east', 'failed'], // DP-1123: it comes after the one that fails
  ] as const)('a region that is %s', (status, waiting, working, afterFailure) => {
    const id = () => regions.deployment(waiting).ID;
    const stops = () => regions.at(waiting).stopJob();
    const fails = () => regions.at(waiting).commands.fail(id(), byOperator);
    const isReplaced = () => regions.register({}, {}, [waiting]);
    const unblocks = () => regions.at(waiting).commands.unblock(id(), byOperator);

    it.each([
      ['failed', 'fails', afterFailure, fails],
      ['cancelled', 'stops', 'paused', stops],
      ['cancelled', 'is superseded', 'paused', isReplaced],
      ...(status === 'blocked' ? ([['successful', 'unblocks', 'paused', unblocks]] as const) : []),
    ] as const)(
      'DP-1125, DP-1129: waits far beyond any deadline, and is %s when it %s; the one at work is %s',
      async (end, _, elsewhere, ends) => {
        regions.at(working).health = () => undefined;
        await regions.register();
        await regions.until(...(status === 'pending' ? WEST_WORKS : EAST_WORKS));
        const other = regions.deployment(working).ID;
        await regions.at(working).commands.pause(other, true, byOperator);
        await regions.time.pass(25 * MINUTE);
        const { ID, Status } = regions.deployment(waiting);
        expect(Status).toBe(status);
        await ends();
        await regions.time.pass(5_000);
        expect(regions.at(waiting).tables.deployment.get(ID)?.Status).toBe(end);
        expect(regions.at(working).tables.deployment.get(other)?.Status).toBe(elsewhere);
      },
    );
  });
});

describe('a region fails', () => {
  it.each([
    ['', ['blocked', 'failed', 'failed']],
    ['fail_all', ['failed', 'failed', 'failed']],
    ['fail_local', ['blocked', 'failed', 'blocked']],
  ] as const)('DP-S18, DP-802, DP-1123, DP-1124: the second of three, on_failure "%s"', async (OnFailure, expected) => {
    breakIn('east');
    await regions.register({ OnFailure }, noRetries);
    await regions.until(...expected);
    expect(regions.deployment('east').StatusDescription).toBe('Failed due to unhealthy allocations');
    for (const name of ['west', 'north'])
      if (regions.deployment(name).Status === 'failed')
        expect(regions.deployment(name).StatusDescription).toBe('Failed because of an error in peer region');
    if (OnFailure !== 'fail_local') expect(regions.at('north').live()).toEqual([]);
    await regions.time.pass(5 * MINUTE);
    expect(regions.statuses).toEqual(expected); // nothing unblocks by itself
    for (const name of ['west', 'north']) {
      const { ID, Status } = regions.deployment(name);
      if (Status === 'blocked') await regions.at(name).commands.unblock(ID, byOperator);
    }
    expect(regions.statuses.filter((status) => status === 'blocked')).toEqual([]);
    expect(regions.deployment('west').Status).toBe(OnFailure === 'fail_all' ? 'failed' : 'successful');
  });

  it('DP-803, DP-1128: a region that fails because of another goes back by itself, as a rollout of its own', async () => {
    const reverting = { Update: { ...UPDATE, ProgressDeadline: 0, AutoRevert: true } };
    await regions.register({ OnFailure: 'fail_all' }, reverting);
    await regions.until('successful', 'successful', 'successful');
    regions.at('east').health = (alloc) => alloc.Job?.Version !== 1;
    await regions.register({ OnFailure: 'fail_all' }, reverting);
    await regions.until('failed', 'failed', 'failed');
    expect(regions.deployment('west').StatusDescription).toBe(
      'Failed because of an error in peer region - rolling back to job version 0',
    );
    const back = await regions.at('west').until('successful');
    expect(back).toMatchObject({ JobVersion: 2, IsMultiregion: false });
  });
});

describe('an operator', () => {
  it('DP-E20, DP-904, DP-1118: the pause of a pending region is kept by its peers, and keeps its turn', async () => {
    regions.at('west').health = () => undefined;
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    const { ID } = regions.deployment('east');
    await regions.at('east').commands.pause(ID, true, byOperator);
    for (const alloc of regions.at('west').live()) await regions.at('west').report(alloc, 'running', true);
    await regions.until('blocked', 'paused', 'pending');
    await regions.time.pass(5 * MINUTE);
    expect(regions.statuses).toEqual(['blocked', 'paused', 'pending']);
    const resumed = await regions.at('east').commands.pause(ID, false, byOperator);
    expect(resumed.evalId).toBe('');
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether).toEqual([['west'], ['east'], ['north']]);
  });

  it('DP-1118: pausing what is done but blocked is refused', async () => {
    regions.at('east').health = () => undefined;
    await regions.register();
    await regions.until('blocked', 'running', 'pending');
    const { ID } = regions.deployment('west');
    await expect(regions.at('west').commands.pause(ID, true, byOperator)).rejects.toThrow(
      'can\'t pause deployment in status "blocked"',
    );
  });
});

describe('a region cannot be reached', () => {
  it('DP-S19, DP-1130, DP-1131: its turn waits for it; when it is back it is started without anyone acting', async () => {
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    regions.cutOff('east');
    await regions.time.pass(10 * MINUTE);
    expect(regions.statuses).toEqual(['blocked', 'pending', 'pending']);
    regions.reconnect('east');
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether).toEqual([['west'], ['east'], ['north']]);
  });

  it('DP-1132: cut off while running it goes on by itself, and catches up', async () => {
    await regions.register();
    await regions.until('blocked', 'running', 'pending');
    regions.cutOff('east');
    await regions.time.pass(10 * MINUTE);
    expect(regions.statuses).toEqual(['blocked', 'blocked', 'pending']);
    expect(regions.at('east').live()).toHaveLength(2);
    regions.reconnect('east');
    await regions.until('successful', 'successful', 'successful');
  });

  it('DP-1112, DP-1115: while one region has not been registered, nothing starts in the others', async () => {
    await regions.register({}, {}, ['west', 'east']);
    await regions.time.pass(10 * MINUTE);
    expect([regions.deployment('west').Status, regions.deployment('east').Status]).toEqual(['pending', 'pending']);
    expect(regions.at('west').live()).toEqual([]);
    await regions.register(); // once more, completely
    await regions.until('successful', 'successful', 'successful');
  });

  it('DP-S20, DP-1133, DP-1134: its holder goes right after the registration, and another in the middle', async () => {
    for (const name of ['west', 'east', 'north']) regions.at(name).loseLeader();
    await regions.register();
    await regions.time.pass(MINUTE);
    expect(regions.statuses).toEqual(['pending', 'pending', 'pending']);
    for (const name of ['north', 'east', 'west']) await regions.at(name).lead();
    await regions.until('blocked', 'running', 'pending');
    await regions.at('east').lead();
    await regions.until('successful', 'successful', 'successful');
    expect(regions.runningTogether).toEqual([['west'], ['east'], ['north']]);
  });

  it('DP-1123: a region that was cut off finds the failure when it is back', async () => {
    breakIn('west');
    regions.at('east').health = () => undefined;
    await regions.register({ MaxParallel: 2, OnFailure: 'fail_all' }, noRetries);
    await regions.until('running', 'running', 'pending');
    regions.cutOff('east');
    await regions.until('failed', 'running', 'failed');
    regions.reconnect('east');
    await regions.until('failed', 'failed', 'failed');
  });

  it('DP-1119, DP-1308: looks are counted by region, and are rarer while one does not answer', async () => {
    regions.at('west').health = () => undefined;
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    const looks = async (): Promise<number> => {
      const before = regions.at('west').stats['peerCalls east'] ?? 0;
      await regions.time.pass(4 * MINUTE);
      return (regions.at('west').stats['peerCalls east'] ?? 0) - before;
    };
    expect(await looks()).toBe(24); // every 10 s
    expect(regions.at('west').stats['peerErrors east']).toBe(0);
    regions.cutOff('east');
    expect(await looks()).toBeLessThanOrEqual(7); // after 20 s, 40 s, then every minute
    expect(regions.at('west').stats['peerErrors east']).toBeGreaterThan(3);
  });
});

describe('a region that a job does not list any more', () => {
  const jobIn = (name: string) => regions.at(name).tables.jobs.get('default/web');
  const leaveNorth = () => regions.register({}, {}, ['west', 'east'], ['west', 'east']);
  const isDone = async () => {
    await regions.at('west').until('successful');
    await regions.at('east').until('successful');
  };

  it('DP-1113: stops it, once, and keeps it', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    await leaveNorth();
    await isDone();
    expect(jobIn('north')).toMatchObject({ Stop: true, Version: 1 });
    expect(regions.at('north').live()).toEqual([]);
    for (const name of ['west', 'east', 'north']) await regions.at(name).lead();
    await regions.time.pass(10 * MINUTE);
    expect(regions.deregistrations).toEqual(['north']);
    expect([jobIn('west')?.Stop, jobIn('east')?.Stop]).toEqual([false, false]);
  });

  it('DP-1113: one that cannot be reached holds up nothing, and stops it when it is back, whoever is there to ask', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    regions.cutOff('north');
    await leaveNorth();
    await isDone();
    await regions.time.pass(10 * MINUTE);
    expect(jobIn('north')?.Stop).toBe(false);
    await regions.at('west').lead(); // it knows what is to be done from state alone
    await regions.time.pass(MINUTE);
    regions.reconnect('north');
    await regions.time.pass(5 * MINUTE);
    expect(jobIn('north')?.Stop).toBe(true);
    expect(regions.deregistrations).toEqual(['north']);
  });

  it('DP-1113: what somebody has registered there alone meanwhile is let be', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    await regions.at('north').register({ web: {} });
    await regions.at('north').until('successful');
    await leaveNorth();
    await isDone();
    await regions.time.pass(10 * MINUTE);
    expect(jobIn('north')?.Stop).toBe(false);
    expect(regions.deregistrations).toEqual([]);
  });
});

describe('what regions ask of each other', () => {
  const rollout = { Namespace: 'default', JobID: 'web', JobVersion: 0 };

  it('DP-1117, DP-1114: started before its plan, unblocked before it is done, started after the end', async () => {
    const holder = regions.at('west').forRegions;
    const context = new RpcContext([undefined]);
    regions.at('west').health = () => undefined;
    await regions.register();
    await regions.until('running', 'pending', 'pending');
    const asked = { DeploymentID: regions.deployment('west').ID, From: 'east' };
    expect(await holder.runDeployment(asked, context)).toEqual({ Status: 'running' });
    await expect(holder.unblockDeployment(asked, context)).rejects.toThrow("can't unblock running deployment");
    for (const alloc of regions.at('west').live()) await regions.at('west').report(alloc, 'running', true);
    await regions.until('successful', 'successful', 'successful');
    expect(await holder.unblockDeployment(asked, context)).toEqual({ Status: 'successful' });
    await expect(holder.runDeployment(asked, context)).rejects.toThrow("can't run terminal deployment");
  });

  it('DP-1127: a deployment that was collected counts as successful if its version is stable, otherwise as none', async () => {
    await regions.register();
    await regions.until('successful', 'successful', 'successful');
    const { plane, forRegions } = regions.at('west');
    const DeploymentIDs = [regions.deployment('west').ID];
    await regions.at('west').stopJob(); // what is in use is not collected
    await regions.time.pass(MINUTE);
    await plane.write('DeploymentDelete', { DeploymentIDs, ScanIndex: plane.state.appliedIndex });
    expect(forRegions.rolloutProgress(rollout)).toEqual({ DeploymentID: '', Status: 'successful', HasRun: false });
    expect(forRegions.rolloutProgress({ ...rollout, JobVersion: 7 })).toMatchObject({ Status: 'none' });
  });

  it('DP-1138: a job of one region asks no other, and cannot be started by one', async () => {
    const west = regions.at('west');
    west.health = () => undefined;
    await west.register({ web: {} });
    const { ID } = await west.until('running');
    await regions.time.pass(2 * MINUTE);
    expect(west.stats['peerCalls east']).toBe(0);
    const { ModifyIndex } = west.deployment()!;
    await west.forRegions.runDeployment({ DeploymentID: ID, From: 'east' }, new RpcContext([undefined]));
    expect(west.deployment()!.ModifyIndex).toBe(ModifyIndex);
    expect(west.forRegions.rolloutProgress(rollout)).toMatchObject({ Status: 'none' });
  });
});
