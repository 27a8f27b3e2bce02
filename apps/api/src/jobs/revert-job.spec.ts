import { aRequest } from '../http/request.fixture.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { JobStability, readStabilityRequest } from './job-stability.js';
import { RegisterJob } from './register-job.js';
import { readRevertRequest, RevertJob, type RevertRequest } from './revert-job.js';

const { aJob } = fixtures;
const TAG = { Name: 'good', Description: '', TaggedTime: 1 };
const v0 = aJob({ Version: 0, Stable: true, VersionTag: TAG, Priority: 40, JobModifyIndex: 3 });
const v1 = aJob({ Version: 1, Priority: 60, JobModifyIndex: 7 });
const requester = () => Requester.of(aRequest());

function stored(current: Job | undefined, ...versions: Job[]) {
  const { drafts, writer } = writtenDrafts();
  const jobs = { job: async () => ({ row: current, sequence: 0 }), awaitReadable: async () => 0 };
  const read = { schedulerConfiguration: async () => undefined, jobVersions: async () => ({ rows: versions }) };
  const admission = { admit: async () => '' };
  const register = new RegisterJob({ writer, jobs, admission, read, newId: () => 'new-eval' });
  const revert = new RevertJob(jobs, register, read);
  const stability = new JobStability(writer, jobs, read);
  return {
    drafts,
    revert: (version: number, enforcePriorVersion: RevertRequest['enforcePriorVersion'] = null) =>
      revert.revert('default', 'web', { version, enforcePriorVersion }, requester()),
    setStable: (version: number, stable: boolean) =>
      stability.markVersion('default', 'web', { version, stable }, requester()),
  };
}

describe('reverting a job', () => {
  it('API-163 DP-956: a new version with the old content, not stable, no tag, the old text', async () => {
    const { revert, drafts } = stored(v1, v1, v0);
    expect(await revert(0)).toMatchObject({ EvalID: 'new-eval', EvalCreateIndex: 50, JobModifyIndex: 50 });
    expect(drafts).toMatchObject([
      {
        type: 'JobRegister',
        payload: {
          Job: { Priority: 40, Stable: false, VersionTag: null },
          SubmissionFrom: 0,
          Submission: null,
          Eval: { TriggeredBy: 'job-register' },
        },
      },
    ]);
    expect(v0).toMatchObject({ Stable: true, VersionTag: TAG });
  });

  it('API-163 DP-957: the content it has already: an evaluation only; a stopped job starts', async () => {
    const same = stored({ ...v1, Priority: 40 }, v1, v0);
    await same.revert(0);
    expect(same.drafts).toMatchObject([{ type: 'EvalUpdate' }]);
    const stopped = stored({ ...v1, Priority: 40, Stop: true }, v1, v0);
    await stopped.revert(0);
    expect(stopped.drafts).toMatchObject([{ type: 'JobRegister', payload: { Job: { Stop: false } } }]);
  });

  it('API-163 DP-956: refusals, in order, and nothing written', async () => {
    const { revert, drafts } = stored(v1, v1, v0);
    await expect(stored(undefined).revert(0)).rejects.toThrow('job "web" not found');
    await expect(revert(1, 9)).rejects.toThrow("can't revert to current version");
    await expect(revert(5, 9)).rejects.toThrow('job "web" in namespace "default" at version 5 not found');
    await expect(revert(0, 9)).rejects.toThrow('Current job has version 1; enforcing version 9');
    expect(drafts).toEqual([]);
    await revert(0, 1);
    expect(drafts).toMatchObject([{ payload: { EnforceIndex: true, JobModifyIndex: 7 } }]);
  });

  it('API-163: the body names the job', () => {
    expect(() => readRevertRequest({}, 'web')).toThrow('JobID must be specified');
    expect(() => readRevertRequest({ JobID: 'api' }, 'web')).toThrow('Job ID does not match');
    const body = { JobID: 'web', JobVersion: 3, EnforcePriorVersion: 0 };
    expect(readRevertRequest(body, 'web')).toEqual({ version: 3, enforcePriorVersion: 0 });
    expect(readRevertRequest({ ...body, EnforcePriorVersion: null }, 'web').enforcePriorVersion).toBeNull();
  });
});

describe('the stability of a version', () => {
  it('API-164 DP-955: one version is marked, without evaluation', async () => {
    const { setStable, drafts } = stored(v1, v1, v0);
    expect(await setStable(0, false)).toBe(50);
    expect(drafts).toMatchObject([
      { type: 'JobStability', namespace: 'default', payload: { JobID: 'web', JobVersion: 0, Stable: false } },
    ]);
    await expect(setStable(9, true)).rejects.toThrow('job "web" in namespace "default" at version 9 not found');
  });

  it('DP-955: the body names the job', () => {
    expect(() => readStabilityRequest({}, 'web')).toThrow('JobID must be specified');
    expect(() => readStabilityRequest({ JobID: 'api' }, 'web')).toThrow('Job ID does not match');
    expect(readStabilityRequest({ JobID: 'web', JobVersion: 1, Stable: true }, 'web')).toEqual({
      version: 1,
      stable: true,
    });
  });
});
