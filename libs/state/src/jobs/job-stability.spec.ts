import { expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const { aJob, aMachine, aRegisteredJob, aRegistration, apply } = fixtures;

function twoVersions() {
  const machine = aMachine();
  aRegisteredJob(machine);
  apply(machine, 'JobRegister', aRegistration(aJob({ Priority: 60 })));
  const set = (JobVersion: number, Stable: boolean) =>
    apply(machine, 'JobStability', { JobID: 'web', JobVersion, Stable }, { namespace: 'default' });
  const version = (n: number) => machine.tables.job_version.get(`default/web@${n}`)!;
  const current = () => machine.tables.jobs.get('default/web')!;
  return { set, version, current };
}

it('ST-87 DP-954: an old version is marked alone, the current job stays what it is', () => {
  const { set, version, current } = twoVersions();
  const before = current();
  const { index } = set(0, true);
  expect(version(0)).toMatchObject({ Stable: true, Version: 0, Priority: 50, ModifyIndex: index });
  expect(version(0).JobModifyIndex).toBeLessThan(index);
  expect(current()).toBe(before);
  set(0, false);
  expect(version(0).Stable).toBe(false);
});

it('ST-87: the current version is marked in both places, without a new version or event', () => {
  const { set, version, current } = twoVersions();
  const specIndex = current().JobModifyIndex;
  const applied = set(1, true);
  expect(current()).toMatchObject({ Stable: true, Version: 1, JobModifyIndex: specIndex, ModifyIndex: applied.index });
  expect(version(1).Stable).toBe(true);
  expect(eventsOf(applied)).toBeNull();
});

it('ST-87: an unknown version or the same value changes nothing', () => {
  const { set } = twoVersions();
  expect(set(7, true).verdict.kind).toBe('noop');
  expect(set(1, false).verdict.kind).toBe('noop');
});
