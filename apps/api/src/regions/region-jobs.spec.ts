import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { RegisterJob } from '../jobs/register-job.js';
import { RegionJobs } from './region-jobs.js';

const For = { Actor: { Kind: 'anonymous', ID: '', Name: '' }, Reason: '', RequestID: 'r' } as const;
const Regions = ['west', 'east'].map((Name) => ({ Name, Count: 1, Datacenters: null, NodePool: '', Meta: null }));
const EVERY_DAY = { Enabled: true, Spec: '@daily', Specs: null, SpecType: 'cron', TimeZone: 'UTC' };

/** What a region writes for its part of a registration. */
async function written(over: Partial<Job>) {
  const { drafts, writer, newId } = writtenDrafts({ first: 7 });
  const current = { job: async () => ({ row: undefined, sequence: 0 }) };
  const read = { schedulerConfiguration: async () => undefined };
  const register = new RegisterJob({ writer, jobs: current, admission: { admit: async () => '' }, read, newId });
  const jobs = new RegionJobs(current, register, {
    deregister: () => Promise.reject(new Error('nothing is stopped here')),
  });
  await jobs.register({
    Job: fixtures.aJob({ Version: 4, Multiregion: { Strategy: null, Regions }, ...over }),
    Submission: null,
    EvalPriority: 0,
    JobModifyIndex: 0,
    PreserveCounts: false,
    PreserveResources: false,
    For,
  });
  return drafts[0]?.payload as { Job: Job; Deployment?: object; Eval: object | null };
}

describe("a region's part of a registration", () => {
  it('DP-1107: of a service it comes with a deployment that waits', async () => {
    const { Job, Deployment, Eval } = await written({ Type: 'service' });
    expect(Job.Version).toBe(4);
    expect(Deployment).toMatchObject({ Status: 'initializing', IsMultiregion: true, JobVersion: 4, Registration: 'r' });
    expect(Eval).toMatchObject({ TriggeredBy: 'job-register' });
  });

  it.each([
    ['batch', { Type: 'batch' }, true],
    ['sysbatch', { Type: 'sysbatch' }, true],
    ['system', { Type: 'system' }, true],
    ['periodic', { Type: 'batch', Periodic: EVERY_DAY }, false],
    ['parameterized', { Type: 'batch', ParameterizedJob: { Payload: '' } }, false],
  ])('DP-1108: of a %s job it has the common version and nothing that waits', async (_, over, isEvaluated) => {
    const { Job, Deployment, Eval } = await written(over as unknown as Partial<Job>);
    expect(Job.Version).toBe(4);
    expect(Deployment).toBeUndefined();
    expect(Eval !== null).toBe(isEvaluated);
  });
});
