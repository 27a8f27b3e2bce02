import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aJob, aMachine, aRegistration, apply } = fixtures;

function versions(count: number, TrackedVersions = 6): StateMachine {
  const machine = aMachine();
  for (let i = 0; i < count; i++)
    apply(machine, 'JobRegister', { ...aRegistration(aJob({ Priority: i + 1 })), TrackedVersions });
  return machine;
}

function tag(
  machine: StateMachine,
  Version: number,
  Name: string,
  over: { Latest?: boolean; Description?: string } = {},
) {
  const { Latest = false, Description = '' } = over;
  const Tag = { Name, Description, TaggedTime: 5 };
  const payload = { JobID: 'web', Version, Latest, Name, Tag, TrackedVersions: 6 };
  return apply(machine, 'JobVersionTag', payload, { namespace: 'default' });
}

function untag(machine: StateMachine, Name: string, TrackedVersions = 6) {
  const payload = { JobID: 'web', Version: 0, Latest: false, Name, Tag: null, TrackedVersions };
  return apply(machine, 'JobVersionTag', payload, { namespace: 'default' });
}

const kept = (machine: StateMachine) =>
  [...machine.tables.job_version.all()].map(({ Version }) => Version).toSorted((a, b) => a - b);
const row = (machine: StateMachine, version: number) => machine.tables.job_version.get(`default/web@${version}`);

describe('tags of versions', () => {
  it('ST-88: an older version is tagged without touching the job; no event is sent (API-408)', () => {
    const machine = versions(2);
    const before = machine.tables.jobs.get('default/web');
    const applied = tag(machine, 0, 'good');
    expect(row(machine, 0)).toMatchObject({ VersionTag: { Name: 'good' }, Version: 0, ModifyIndex: applied.index });
    expect(machine.tables.jobs.get('default/web')).toBe(before);
    expect(eventsOf(applied)).toBeNull();
  });

  it('ST-88 API-166: the current version with Latest, on both rows, neither a new version nor a new specification', () => {
    const machine = versions(2);
    const { JobModifyIndex } = machine.tables.jobs.get('default/web')!;
    const { index } = tag(machine, 0, 'good', { Latest: true });
    const expected = { VersionTag: { Name: 'good' }, Version: 1, ModifyIndex: index, JobModifyIndex };
    expect(row(machine, 1)).toMatchObject(expected);
    expect(machine.tables.jobs.get('default/web')).toMatchObject(expected);
  });

  it('ST-88: the same name again on the same version replaces the description, on another it is refused', () => {
    const machine = versions(2);
    tag(machine, 0, 'good', { Description: 'a' });
    tag(machine, 0, 'good', { Description: 'b' });
    expect(row(machine, 0)?.VersionTag?.Description).toBe('b');
    expect(tag(machine, 1, 'good').verdict).toMatchObject({
      kind: 'refused',
      code: 'conflict',
      error: 'tag "good" already exists on a different version of job "web"',
    });
  });

  it('ST-88 ST-89: versions and tags that are not there', () => {
    const machine = versions(1);
    expect(tag(machine, 4, 'x').verdict).toMatchObject({ error: 'job "web" version 4 not found' });
    expect(untag(machine, 'x').verdict).toMatchObject({ error: 'tag "x" not found on job "web"' });
    expect(tag(aMachine(), 0, 'x', { Latest: true }).verdict).toMatchObject({ error: 'job "web" version 0 not found' });
  });

  it('ST-84 ST-89: a tagged version is kept beyond the limit, and pruned at once when untagged', () => {
    const machine = versions(1);
    tag(machine, 0, 'first');
    for (let i = 0; i < 7; i++) apply(machine, 'JobRegister', aRegistration(aJob({ Priority: 10 + i })));
    expect(kept(machine)).toEqual([0, 2, 3, 4, 5, 6, 7]);
    untag(machine, 'first');
    expect(kept(machine)).toEqual([2, 3, 4, 5, 6, 7]);
  });

  it('ST-89: the current version stays, whatever is pruned', () => {
    const machine = versions(1);
    tag(machine, 0, 'now');
    expect(untag(machine, 'now', 0).verdict.kind).toBe('accepted');
    expect(kept(machine)).toEqual([0]);
  });
});
