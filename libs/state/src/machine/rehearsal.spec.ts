import { describe, expect, it } from 'vitest';
import { stateDigest } from './digest.js';
import { fixtures } from '../fixtures.js';
import { rehearseRegistration } from './rehearsal.js';

const { aJob, aMachine, aRegistration, apply } = fixtures;

describe('rehearsing a registration', () => {
  it('ST-145: the new version is there while it is looked at, and nothing of it afterwards', () => {
    const state = aMachine();
    apply(state, 'JobRegister', aRegistration(aJob()));
    const before = stateDigest(state);
    const seen = rehearseRegistration(state, aRegistration(aJob({ Priority: 70 })), 1, () => ({
      job: state.tables.jobs.get('default/web'),
      versions: [...state.tables.job_version.by('job', 'default/web')].length,
    }));
    expect(seen).toMatchObject({
      job: { Priority: 70, Version: 1, JobModifyIndex: state.appliedIndex + 1 },
      versions: 2,
    });
    expect(stateDigest(state)).toBe(before);
    const priorities = [...state.tables.job_version.by('job', 'default/web')].map(({ Priority }) => Priority);
    expect(priorities).toEqual([50]);
  });

  it('ST-145: nothing stays when the registration is refused, or the look fails', () => {
    const state = aMachine();
    const before = stateDigest(state);
    const rehearse = (job: ReturnType<typeof aJob>, look: () => void) =>
      rehearseRegistration(state, aRegistration(job), 1, look);
    expect(() => rehearse(aJob({ NodePool: 'none' }), () => {})).toThrow(
      'job "web" is in nonexistent node pool "none"',
    );
    expect(() =>
      rehearse(aJob(), () => {
        throw new Error('no look');
      }),
    ).toThrow('no look');
    expect(stateDigest(state)).toBe(before);
  });
});
