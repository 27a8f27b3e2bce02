import { aRequest } from '../http/request.fixture.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Allocation, Job } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { EvaluateJob, readEvaluateRequest } from './evaluate-job.js';

const { aGroup, aJob, anAlloc } = fixtures;
const policy = { Attempts: 0, Interval: 0, Delay: 1, DelayFunction: 'constant', MaxDelay: 0, Unlimited: true } as const;
const reschedules = aGroup({ Name: 'a', ReschedulePolicy: policy });
const stays = aGroup({ Name: 'b', ReschedulePolicy: { ...policy, Unlimited: false } });
const job = aJob({ ModifyIndex: 33, TaskGroups: [reschedules, stays] });

async function evaluated(stored: Job | undefined, allocs: Allocation[], forceReschedule: boolean) {
  const { drafts, writer } = writtenDrafts();
  const evaluate = new EvaluateJob({
    writer,
    jobs: { job: async () => ({ row: stored, sequence: 0 }) },
    read: { jobAllocations: async () => ({ rows: allocs }) },
    newId: () => 'new-eval',
  });
  const options = { namespace: 'default', id: 'web', forceReschedule };
  return { answer: await evaluate.evaluate(options, Requester.of(aRequest())), drafts };
}

describe('API-150', () => {
  it('an evaluation of the job, with its type and priority', async () => {
    const { answer, drafts } = await evaluated(job, [], false);
    expect(answer).toMatchObject({ EvalID: 'new-eval', EvalCreateIndex: 50, JobModifyIndex: 33, Index: 50 });
    expect(drafts).toMatchObject([
      {
        type: 'EvalUpdate',
        payload: { Evals: [{ TriggeredBy: 'job-register', Type: job.Type, Priority: job.Priority }] },
      },
    ]);
  });

  it('ForceReschedule marks what failed, is not replaced, not marked, and of a group that reschedules, in the same transaction', async () => {
    const failed = (over: Partial<Allocation> = {}) =>
      anAlloc({ Job: job, TaskGroup: 'a', ClientStatus: 'failed', ...over });
    const marked = failed();
    const others = [
      failed({ NextAllocation: 'x' }),
      failed({ TaskGroup: 'b' }),
      failed({ ClientStatus: 'running' }),
      failed({ ClientStatus: 'lost' }),
      failed({ DesiredTransition: { ...marked.DesiredTransition, ForceReschedule: true } }),
    ];
    const { drafts } = await evaluated(job, [marked, ...others], true);
    expect(drafts).toHaveLength(1);
    expect(drafts[0]).toMatchObject({ type: 'AllocUpdateDesiredTransition', payload: { Evals: [{ ID: 'new-eval' }] } });
    const { Transitions } = drafts[0]!.payload as { Transitions: Record<string, unknown> };
    expect(Transitions).toEqual({
      [marked.ID]: {
        Migrate: null,
        Reschedule: null,
        ForceReschedule: true,
        NoShutdownDelay: null,
        MigrateDisablePlacement: null,
      },
    });
  });

  it('unknown, periodic and parameterized jobs are refused', async () => {
    await expect(evaluated(undefined, [], false)).rejects.toThrow('job not found');
    const periodic = {
      Enabled: true,
      Spec: '',
      Specs: ['* * * * *'],
      SpecType: 'cron',
      ProhibitOverlap: false,
      TimeZone: 'UTC',
    };
    await expect(evaluated({ ...job, Periodic: periodic }, [], false)).rejects.toThrow("can't evaluate periodic job");
    const ParameterizedJob = { Payload: '', MetaRequired: null, MetaOptional: null };
    await expect(evaluated({ ...job, ParameterizedJob }, [], false)).rejects.toThrow(
      "can't evaluate parameterized job",
    );
  });

  it('the body may be missing; if there is one, it names the job of the path', () => {
    expect(readEvaluateRequest(undefined, 'web')).toEqual({ forceReschedule: false });
    expect(readEvaluateRequest({ JobID: 'web', EvalOptions: { ForceReschedule: true } }, 'web')).toEqual({
      forceReschedule: true,
    });
    expect(() => readEvaluateRequest({}, 'web')).toThrow('Job ID must be specified');
    expect(() => readEvaluateRequest({ JobID: 'x' }, 'web')).toThrow('JobID not same as job name');
    expect(() => readEvaluateRequest({ JobID: 'web', EvalOptions: { ForceReschedule: 1 } }, 'web')).toThrow('json:');
  });
});
