import { FakeTime, type Job } from '@waybill/model';
import { deregisterInRegion, jobInThatRegion, RpcUnavailableError, type Call } from '@waybill/rpc';
import { fixtures, versionKey } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { DroppedRegions, FIRST_DROP_RETRY_MS, LATE_REGISTRATION_MS } from './dropped-regions.js';

function ofRegions(Version: number, ...names: string[]): Job {
  const Regions = names.map((Name) => ({ Name, Count: 1, Datacenters: null, NodePool: '', Meta: null }));
  return fixtures.aJob({ ID: 'web', Version, Multiregion: { Strategy: null, Regions } });
}

/** West, whose job has left east with version 2. */
function setup(isCut = false) {
  const time = new FakeTime();
  const { tables } = fixtures.aMachine();
  const job = ofRegions(2, 'west');
  for (const version of [ofRegions(1, 'west', 'east'), job])
    tables.job_version.replace(versionKey('default', 'web', version.Version), version);
  const east = { job: null as Job | null, isCut, asked: 0, stopped: 0 };
  const ask = async (_region: string, { name }: Call<unknown, unknown>): Promise<unknown> => {
    if (east.isCut) throw new RpcUnavailableError(name, 'timeout');
    if (name === jobInThatRegion.name) return { Job: (east.asked++, east.job) };
    expect(name).toBe(deregisterInRegion.name);
    east.stopped++;
    return { Index: 3 };
  };
  const watching = { tables, timers: time, logger: silentLogger, newId: () => 'id' };
  const dropped = new DroppedRegions({
    regions: { own: 'west' },
    watching,
    contacts: { callPeer: ask },
  } as never);
  dropped.checkVersion(job);
  return { time, dropped, east };
}

describe('a region that a job has left', () => {
  it('DP-1113: has nothing to stop, and is asked once more: an earlier registration may still have come', async () => {
    const { time, east } = setup();
    await time.pass(1_000);
    expect(east.asked).toBe(1);
    east.job = ofRegions(1, 'west', 'east');
    await time.pass(LATE_REGISTRATION_MS);
    expect(east).toMatchObject({ asked: 2, stopped: 1 });
    await time.pass(60 * LATE_REGISTRATION_MS);
    expect(east).toMatchObject({ asked: 2, stopped: 1 });
  });

  it('DP-1113: has stopped it, and is asked once more all the same', async () => {
    const { time, east } = setup(true);
    east.job = ofRegions(1, 'west', 'east');
    east.isCut = false;
    await time.pass(FIRST_DROP_RETRY_MS);
    expect(east.stopped).toBe(1);
    await time.pass(60 * LATE_REGISTRATION_MS);
    expect(east.stopped).toBe(2);
  });

  it('DP-1113: still has nothing, and is let be', async () => {
    const { time, east } = setup();
    await time.pass(60 * LATE_REGISTRATION_MS);
    expect(east).toMatchObject({ asked: 2, stopped: 0 });
  });

  it('DP-1113: is asked again until it answers', async () => {
    const { time, east } = setup(true);
    east.job = ofRegions(1, 'west', 'east');
    await time.pass(FIRST_DROP_RETRY_MS - 1);
    expect(east.stopped).toBe(0);
    east.isCut = false;
    await time.pass(1);
    expect(east.stopped).toBe(1);
  });

  it('DP-1134: is not asked any more by one whose term is over', async () => {
    const { time, dropped, east } = setup();
    await time.pass(1_000);
    dropped.stop();
    await time.pass(2 * LATE_REGISTRATION_MS);
    expect(east.asked).toBe(1);
  });
});
