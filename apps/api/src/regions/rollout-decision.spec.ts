import type { Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { decideRollout } from './rollout-decision.js';

const region = (Name: string, Count = 1) => ({ Name, Count, Datacenters: null, NodePool: '', Meta: null });

function job(regions: readonly string[], over: Partial<Job> = {}): Job {
  const Regions = regions.map((name, i) => region(name, i + 1));
  const TaskGroups = [fixtures.aGroup({ Count: 0 })];
  return fixtures.aJob({ Region: 'global', Multiregion: { Strategy: null, Regions }, TaskGroups, ...over });
}

/** What the regions have after a job was registered in all of them. */
function registered(given: Job, over: Readonly<Record<string, Partial<Job>>> = {}): Map<string, Job> {
  const parts = decideRollout(given, new Map());
  return new Map(
    parts.map(({ region: name, job: own }, i) => [name, { ...own, JobModifyIndex: 10 + i, ...over[name] }]),
  );
}

describe('what is registered where', () => {
  it('DP-1105, DP-1106: all regions begin with version 0, each with its own form of the job', () => {
    const parts = decideRollout(job(['west', 'east']), new Map());
    expect(parts.map((part) => [part.region, part.job.Region, part.job.Version, part.jobModifyIndex])).toEqual([
      ['west', 'west', 0, 0],
      ['east', 'east', 0, 0],
    ]);
    expect(parts.map((part) => part.job.TaskGroups[0]?.Count)).toEqual([1, 2]);
  });

  it('DP-1104: the same job again is no new version', () => {
    const given = job(['west', 'east']);
    expect(decideRollout(given, registered(given))).toEqual([]);
  });

  it.each([
    ['lacks it', new Map<string, Job | null>([...registered(job(['west', 'east'])), ['east', null]]), 1],
    ['has stopped it', registered(job(['west', 'east']), { east: { Stop: true, Version: 1 } }), 2],
    ['has another one', registered(job(['west', 'east']), { east: { Priority: 7, Version: 4 } }), 5],
    ['went back to another one', registered(job(['west', 'east']), { west: { Meta: { old: '1' }, Version: 9 } }), 10],
  ])('DP-1104, DP-1105: one region %s: all get the version after the greatest', (_, stored, version) => {
    const parts = decideRollout(job(['west', 'east']), stored);
    expect(parts.map((part) => part.job.Version)).toEqual([version, version]);
    expect(parts.map((part) => part.jobModifyIndex)).toEqual(
      [...stored.values()].map((old) => old?.JobModifyIndex ?? 0),
    );
  });

  it('DP-1104: another list of regions is a change', () => {
    const stored = registered(job(['west', 'east', 'north']));
    const parts = decideRollout(job(['west', 'east']), stored);
    expect(parts.map((part) => part.job.Version)).toEqual([1, 1]);
  });
});
