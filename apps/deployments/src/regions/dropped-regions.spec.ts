import { FakeTime, type Job } from '@waybill/model';
import { deregisterInRegion, jobInThatRegion, RpcUnavailableError, type Call } from '@waybill/rpc';
import { fixtures, versionKey } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { DroppedRegions, FIRST_DROP_RETRY_MS, LATE_REGISTRATION_MS, MAX_DROP_RETRY_MS } from './dropped-regions.js';

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
  let tried = 0;
  const ask = async (_region: string, { name }: Call<unknown, unknown>): Promise<unknown> => {
    tried += 1;
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
  return { time, dropped, east, tables, job, tries: () => tried };
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

  it('DP-1134: is not asked any more when the term ends during the call', async () => {
    for (const isCut of [false, true]) {
      const { time, dropped, tries } = setup(isCut);
      dropped.stop();
      await time.pass(2 * LATE_REGISTRATION_MS);
      expect([tries(), time.pending]).toEqual([1, 0]);
    }
  });

  it.each<[string, Partial<Job>]>([
    ['was stopped there', { ...ofRegions(1, 'west', 'east'), Stop: true }],
    ['was registered there separately', ofRegions(1, 'east')],
    ['is newer there', ofRegions(3, 'west', 'east')],
  ])('DP-1113: keeps a job that %s', async (_how, there) => {
    const { time, east } = setup();
    east.job = there as Job;
    await time.pass(2 * LATE_REGISTRATION_MS);
    expect(east).toMatchObject({ asked: 2, stopped: 0 });
  });

  it('DP-1113: the job of the same version is stopped there', async () => {
    const { time, east } = setup(true);
    east.job = ofRegions(2, 'west', 'east');
    east.isCut = false;
    await time.pass(FIRST_DROP_RETRY_MS);
    expect(east.stopped).toBe(1);
  });

  it('DP-1113: the pause between calls doubles, up to five minutes', async () => {
    const { time, east, tries } = setup(true);
    await time.pass(0);
    expect(tries()).toBe(1);
    let calls = 1;
    for (let pauseMs = FIRST_DROP_RETRY_MS; calls < 9; pauseMs = Math.min(2 * pauseMs, MAX_DROP_RETRY_MS)) {
      await time.pass(pauseMs - 1);
      expect(tries()).toBe(calls);
      await time.pass(1);
      expect(tries()).toBe((calls += 1));
    }
    expect(east.stopped).toBe(0);
  });

  it('DP-1113: only the first region of the list asks, and only those that a version of this job has left', async () => {
    const { time, dropped, east, tables } = setup();
    await time.pass(10 * LATE_REGISTRATION_MS);
    expect(east.asked).toBe(2);
    const put = (version: Job) => tables.job_version.replace(versionKey('default', 'web', version.Version), version);
    dropped.checkVersion(ofRegions(2, 'north', 'west'));
    put({ ...ofRegions(1, 'west', 'east'), CreateIndex: 7 });
    dropped.checkVersion(ofRegions(2, 'west'));
    put(ofRegions(2, 'west', 'east'));
    dropped.checkVersion(ofRegions(2, 'west'));
    put(ofRegions(1, 'west', 'east'));
    dropped.checkVersion(ofRegions(2, 'west', 'east'));
    await time.pass(10 * LATE_REGISTRATION_MS);
    expect(east.asked).toBe(2);
    dropped.checkVersion(ofRegions(2, 'west'));
    dropped.checkVersion(ofRegions(2, 'west'));
    await time.pass(10 * LATE_REGISTRATION_MS);
    expect(east.asked).toBe(5);
  });

  it('DP-1113, DP-1134: a new term begins with every job', async () => {
    const { time, dropped, east, tables, job } = setup();
    await time.pass(10 * LATE_REGISTRATION_MS);
    tables.jobs.replace('default/web', job);
    dropped.checkAllJobs();
    await time.pass(10 * LATE_REGISTRATION_MS);
    expect(east.asked).toBe(4);
  });
});
