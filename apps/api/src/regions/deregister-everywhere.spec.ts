import { CurrentJobs } from '../jobs/current-jobs.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Job } from '@waybill/model';
import { regionAlone, RpcUnavailableError, type Regions } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { DeregisterJob } from '../jobs/deregister-job.js';
import { DeregisterEverywhere } from './deregister-everywhere.js';

const asUser = Requester.inOtherRegion(
  { Actor: { Kind: 'anonymous', ID: '', Name: '' }, Reason: '', RequestID: 'r' },
  undefined,
);
const stop = (purge: boolean) => ({
  namespace: 'default',
  id: 'web',
  purge,
  global: true,
  evalPriority: 0,
  noShutdownDelay: false,
});

/** Region west; east answers what `east` says. The job can be read here once its last transaction was waited for. */
function setup(east: () => Promise<unknown>) {
  const regions = ['west', 'east'].map((Name) => ({ Name, Count: 1, Datacenters: null, NodePool: '', Meta: null }));
  const job: Job = fixtures.aJob({ ID: 'web', Multiregion: { Strategy: null, Regions: regions } });
  let readable = false;
  const { drafts, writer, newId } = writtenDrafts({ first: 8 });
  const reads = {
    job: async () => (readable ? job : undefined),
    applied: () => 6,
    readable: async () => (readable = true),
  };
  const jobs = new CurrentJobs({ lastSequence: async () => 7 }, reads);
  const here = new DeregisterJob({ writer, jobs, newId });
  const asked: string[] = [];
  const peers: Regions = {
    ...regionAlone('west'),
    askRegion: async <_Req, Res>(region: string): Promise<Res> => {
      asked.push(region);
      return (await east()) as Res;
    },
  };
  return { everywhere: new DeregisterEverywhere(peers, here, jobs), asked, drafts };
}

describe('a job is stopped in all its regions', () => {
  it('DP-1139: those that it lists by its last transaction, though that cannot be read yet', async () => {
    const { everywhere, asked } = setup(async () => ({ Index: 3 }));
    await everywhere.deregister(stop(false), asUser);
    expect(asked).toEqual(['east']);
  });

  it('DP-1139: it is purged here once it is purged in all others: who asks again needs its list of regions', async () => {
    let isCut = true;
    const { everywhere, asked, drafts } = setup(async () => {
      if (isCut) throw new RpcUnavailableError('api.deregister', 'timeout');
      return { Index: 3 };
    });
    await expect(everywhere.deregister(stop(true), asUser)).rejects.toThrow('region "east" cannot be reached');
    isCut = false;
    await everywhere.deregister(stop(true), asUser);
    expect(asked).toEqual(['east', 'east']);
    expect(drafts.map(({ payload }) => payload)).toMatchObject([{ Purge: false }, { Purge: true }]);
  });
});
