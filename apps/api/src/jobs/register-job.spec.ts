import { ConflictError } from '@waybill/journal';
import { defaultSchedulerConfiguration } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { badRequest } from '../http/api-error.js';
import { aRequest } from '../http/request.fixture.js';
import { Requester } from '../http/requester.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { RegisterJobRequest } from './register-request.js';
import { RegisterJob, type RegisterJobDeps } from './register-job.js';

const JOB = fixtures.aJob({ ID: 'web' });
const requester = () => Requester.of(aRequest());
const request: RegisterJobRequest = {
  Job: JOB,
  Submission: null,
  warnings: [],
  EnforceIndex: false,
  JobModifyIndex: 0,
  PreserveCounts: false,
  PreserveResources: false,
  EvalPriority: 0,
};

function setup(deps: Partial<RegisterJobDeps> = {}, propose?: Parameters<typeof writtenDrafts>[0]) {
  const { drafts, writer, newId } = writtenDrafts(propose);
  const asked: string[] = [];
  const register = new RegisterJob({
    writer,
    newId,
    jobs: {
      job: async () => {
        asked.push('job');
        return { row: undefined, sequence: 0 };
      },
    },
    admission: {
      admit: async () => {
        asked.push('admission');
        return 'warned';
      },
    },
    read: {
      schedulerConfiguration: async () => {
        asked.push('configuration');
        return undefined;
      },
    },
    ...deps,
  });
  return { register, drafts, asked };
}

describe('registering a job', () => {
  it('API-100: reads all that it depends on at once', async () => {
    const { register, drafts, asked } = setup();
    const registering = register.register(request, requester());
    expect(asked.toSorted()).toEqual(['admission', 'configuration', 'job']); // before any of them has answered
    expect(await registering).toMatchObject({ JobModifyIndex: 50, Warnings: 'warned' });
    expect(drafts).toMatchObject([{ type: 'JobRegister', payload: { Job: { ID: 'web' } } }]);
    expect(asked).toHaveLength(3);
  });

  it('API-116: reads the job again if another write changed it meanwhile', async () => {
    let attempts = 0;
    const propose = async () => {
      if (++attempts === 1) throw new ConflictError('TXN.job.web', 0, 9);
      return { index: 51, verdict: { kind: 'accepted' } as const };
    };
    const { register, asked } = setup({}, { propose });
    expect(await register.register(request, requester())).toMatchObject({ JobModifyIndex: 51 });
    expect(asked.filter((what) => what === 'job')).toHaveLength(2);
  });

  it('API-102, API-114: an invalid job is reported before disabled registrations and failed reads', async () => {
    const failing = () => Promise.reject(new Error('the database is gone'));
    const invalid = () => Promise.reject(badRequest('no task groups'));
    const { register, drafts } = setup({
      admission: { admit: invalid },
      jobs: { job: failing },
      read: { schedulerConfiguration: failing },
    });
    await expect(register.register(request, requester())).rejects.toThrow('no task groups');
    const rejecting = { ...defaultSchedulerConfiguration(), RejectJobRegistration: true };
    const disabled = setup({ jobs: { job: failing }, read: { schedulerConfiguration: async () => rejecting } });
    await expect(disabled.register.register(request, requester())).rejects.toThrow(/registration.* disabled/);
    expect([...drafts, ...disabled.drafts]).toEqual([]);
  });
});
