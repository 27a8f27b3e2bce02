import type { Deployment, Job, TaskGroup } from '@waybill/model';
import { fixtures, versionKey } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { olderVersionFor, versionBefore } from './older-version.js';

const state = fixtures.aDeploymentState;
const versionOf = (Version: number, group: Partial<TaskGroup> = {}, over: Partial<Job> = {}): Job =>
  fixtures.aJob({ Version, CreateIndex: 10, TaskGroups: [fixtures.aGroup(group)], ...over });
const rolledOut = (JobVersion: number, over: Partial<Deployment> = {}): Deployment =>
  fixtures.aDeployment({ ID: `of-${JobVersion}`, JobVersion, JobCreateIndex: 10, ...over });

/** A state with these versions of the job and these deployments. */
function storing(versions: Job[], deployments: Deployment[] = []) {
  const { tables } = fixtures.aMachine();
  for (const version of versions) tables.job_version.replace(versionKey('default', 'web', version.Version), version);
  for (const deployment of deployments) tables.deployment.replace(deployment.ID, deployment);
  return tables;
}

describe('the version of a placement while a rollout is held back (SC-150)', () => {
  const CURRENT = versionOf(5);
  const all = [0, 1, 2, 3, 4].map((n) => versionOf(n));
  /** Version and deployment. */
  const found = (deployments: Deployment[], versions: Job[] = all, previous?: Job): string | undefined => {
    const alloc = previous && fixtures.anAlloc({ Job: previous });
    const older = olderVersionFor(alloc, 'web', CURRENT, storing([...versions, CURRENT], deployments));
    return older && `${older.job.Version} ${older.deploymentId}`;
  };

  it.each<[string, Deployment[], string | undefined]>([
    ['of the newest deployment', [rolledOut(1), rolledOut(3), rolledOut(2)], '3 of-3'],
    ['not of the rollout itself', [rolledOut(3), rolledOut(5)], '3 of-3'],
    [
      'with promoted canaries',
      [rolledOut(1), rolledOut(3, { TaskGroups: { web: state({ DesiredCanaries: 1, Promoted: true }) } })],
      '3 of-3',
    ],
    [
      'not with canaries that were never promoted',
      [rolledOut(1), rolledOut(3, { TaskGroups: { web: state({ DesiredCanaries: 1 }) } })],
      '1 of-1',
    ],
    ['not of other groups', [rolledOut(1), rolledOut(3, { TaskGroups: { beside: state() } })], '1 of-1'],
    ['not of a former job of this name', [rolledOut(1), rolledOut(3, { JobCreateIndex: 9 })], '1 of-1'],
    ['DP-1110: not of one whose turn never came', [rolledOut(1), rolledOut(3, { Status: 'pending' })], '1 of-1'],
  ])('is that %s', (_, deployments, expected) => {
    expect(found(deployments)).toBe(expected);
  });

  it('is that of the replaced allocation, if it has no update block and nothing was rolled out', () => {
    const plain = versionOf(2, { Update: null });
    expect([found([], all, plain), found([], all, versionOf(2)), found([rolledOut(1)], all, plain)]).toEqual([
      '2 ',
      undefined,
      undefined,
    ]);
  });

  it.each<[string, Job[], string | undefined]>([
    ['the newest without an update block', [1, 3, 2].map((n) => versionOf(n, { Update: null })), '3 '],
    [
      'the newest stable one',
      [versionOf(1, {}, { Stable: true }), versionOf(2, {}, { Stable: true }), versionOf(3)],
      '2 ',
    ],
    ['not a stopped one', [versionOf(1, { Update: null }), versionOf(3, { Update: null }, { Stop: true })], '1 '],
    [
      'not one without the group',
      [versionOf(1, { Update: null }), versionOf(3, { Name: 'other', Update: null })],
      '1 ',
    ],
    [
      'not one of a former job',
      [versionOf(1, { Update: null }), versionOf(3, { Update: null }, { CreateIndex: 9 })],
      '1 ',
    ],
    ['none', [versionOf(3)], undefined],
  ])('is else the newest stored version that ran: %s', (_, versions, expected) => {
    expect(found([], versions)).toBe(expected);
  });

  it('is not the current version, although that is stable already', () => {
    const stable = versionOf(5, {}, { Stable: true });
    const older = olderVersionFor(undefined, 'web', stable, storing([versionOf(1, { Update: null }), stable]));
    expect(older?.job.Version).toBe(1);
  });

  it('is the newest if the older one is not stored any more, lacks the group, or is older than the allocation', () => {
    expect(found([rolledOut(3)], [])).toBeUndefined();
    expect(found([rolledOut(3)], [versionOf(3, { Name: 'other' })])).toBeUndefined();
    expect(found([rolledOut(3)], all, versionOf(4))).toBeUndefined();
    expect(found([rolledOut(3)], all, versionOf(3))).toBe('3 of-3');
    expect(found([], all, versionOf(5, { Update: null }))).toBeUndefined();
  });

  it('of a job that was stopped in between is owed nothing', () => {
    const before = (...versions: Job[]) => versionBefore('web', CURRENT, storing([...versions, CURRENT]))?.Version;
    const plain = (n: number, Stop = false) => versionOf(n, { Update: null }, { Stop });
    expect([before(plain(3)), before(plain(3), plain(4, true)), before(plain(2, true), plain(3)), before()]).toEqual([
      3,
      undefined,
      3,
      undefined,
    ]);
  });
});
