import { describe, expect, it } from 'vitest';
import { decodeJob, jobInRegion, validateJob, type Job, type MultiregionRegion } from '../index.js';

const context = { region: 'east', submitTimeNs: 0 };
const Tasks = [{ Name: 't', Driver: 'mock' }];

function job(multiregion: object, over: object = {}): Job {
  const TaskGroups = [
    { Name: 'a', Count: 0, Meta: { tier: 'group' }, Tasks },
    { Name: 'b', Count: 3, Tasks },
  ];
  return decodeJob(
    { ID: 'j', Meta: { tier: 'job', kept: 'yes' }, TaskGroups, Multiregion: multiregion, ...over },
    context,
  );
}

const west: MultiregionRegion = { Name: 'west', Count: 2, Datacenters: null, NodePool: '', Meta: null };

describe('a job of several regions', () => {
  it('DP-1106: each region has its own count where the job says none, its places and its meta', () => {
    const given = job({ Regions: [west] }, { Datacenters: ['dc9'], NodePool: 'pool' });
    const plain = jobInRegion(given, west);
    expect(plain).toMatchObject({ Region: 'west', Datacenters: ['dc9'], NodePool: 'pool', Meta: { tier: 'job' } });
    expect(plain.TaskGroups.map((group) => group.Count)).toEqual([2, 3]);
    expect(plain.Multiregion).toEqual(given.Multiregion);
    const own = jobInRegion(given, { ...west, Datacenters: ['w1'], NodePool: 'prod', Meta: { tier: 'west' } });
    expect(own).toMatchObject({ Datacenters: ['w1'], NodePool: 'prod', Meta: { tier: 'west', kept: 'yes' } });
    expect(own.TaskGroups[0]!.Meta).toEqual({ tier: 'group' });
    expect(given.TaskGroups[0]!.Count).toBe(0);
  });

  it.each([
    [{ Regions: [] }, 'Multiregion must have at least one region'],
    [{ Regions: [{ Name: '' }] }, 'Multiregion region 1 missing name'],
    [{ Regions: [{ Name: 'west' }, { Name: 'west' }] }, 'Multiregion region "west" is listed more than once'],
    [{ Regions: [{ Name: 'west', Count: -1 }] }, 'Multiregion region "west" count can not be less than zero: -1 < 0'],
    [{ Strategy: { MaxParallel: -1 }, Regions: [west] }, 'Multiregion max_parallel can not be less than zero: -1 < 0'],
    [
      { Strategy: { OnFailure: 'fail_some' }, Regions: [west] },
      'Multiregion on_failure "fail_some" is not "", "fail_all", "fail_local"',
    ],
  ])('DP-1102: %j is refused', (multiregion, error) => {
    expect(validateJob(job(multiregion)).errors).toEqual([error]);
  });

  it.each(['', 'fail_all', 'fail_local'])(
    'DP-1102: on_failure "%s" and a group without a count are in order',
    (OnFailure) => {
      expect(validateJob(job({ Strategy: { MaxParallel: 1, OnFailure }, Regions: [west] }))).toEqual({
        errors: [],
        warnings: [],
      });
    },
  );
});
