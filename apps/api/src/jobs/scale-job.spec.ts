import type { Deployment, DeploymentStatus } from '@waybill/model';
import { fixtures, type TxnDraft } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import type { RegisterJobRequest } from './register-request.js';
import { ScaleJob } from './scale-job.js';

const job = fixtures.aJob({ ModifyIndex: 30, JobModifyIndex: 30, CreateIndex: 10 });

/** Scales `web` beside this latest deployment; the registration ends at index 50, a new version or not. */
async function scaled(latest: Deployment | undefined, body: object, isNewVersion = true) {
  const registrations: RegisterJobRequest[] = [];
  const events: TxnDraft[] = [];
  const scale = new ScaleJob(
    { lastSequence: async () => 0 } as never,
    {
      propose: async (draft) => {
        events.push(draft);
        return { index: 51, verdict: { kind: 'accepted' } };
      },
    },
    {
      refuseWhenDisabled: async () => {},
      decide: async (request) => {
        registrations.push(request);
        const JobModifyIndex = isNewVersion ? 50 : 30;
        return { EvalID: 'e', EvalCreateIndex: 50, JobModifyIndex, Warnings: '', Index: 50 };
      },
    },
    { job: async () => ({ row: job }), jobDeployment: async () => ({ row: latest }) },
    async () => {},
    { nowMs: () => 1 },
    () => 'new-id',
  );
  const request = { Target: { Group: 'web' }, ...body };
  const answer = await scale.run('default', 'web', request, Requester.of({ headers: {} } as never));
  return { answer, registrations, events };
}

const deployment = (Status: DeploymentStatus, JobCreateIndex = 10) => fixtures.aDeployment({ Status, JobCreateIndex });

describe('API-172', () => {
  const ACTIVE = ['running', 'paused', 'pending', 'blocked', 'initializing', 'unblocking'] as const;
  it.each(ACTIVE)('API-172, DP-128: a count is refused while the latest deployment is %s', async (status) => {
    const refused = { code: 'invalid', message: 'job scaling blocked due to active deployment' };
    await expect(scaled(deployment(status), { Count: 3 })).rejects.toMatchObject(refused);
  });

  it.each(['successful', 'failed', 'cancelled'] as const)('API-172: not when it is %s', async (status) => {
    expect((await scaled(deployment(status), { Count: 3 })).answer).toMatchObject({ JobModifyIndex: 50 });
  });

  it('API-172, DP-128: nor because of one of the job that had this ID before, nor for an event without a count', async () => {
    expect((await scaled(deployment('running', 9), { Count: 3 })).registrations).toHaveLength(1);
    expect((await scaled(deployment('running'), { Message: 'why' })).events).toHaveLength(1);
  });
});

describe('API-173', () => {
  it('API-173: the event goes with the new version', async () => {
    const { answer, registrations, events } = await scaled(undefined, { Count: 3, Message: 'more' });
    const ScalingEvent = { Count: 3, PreviousCount: job.TaskGroups[0]!.Count, Message: 'more' };
    expect(registrations).toMatchObject([{ Scaling: { TaskGroup: 'web', ScalingEvent }, EnforceIndex: true }]);
    expect(events).toEqual([]);
    expect(answer.Index).toBe(50);
  });

  it('API-173: of a count that makes no new version the event is written alone, with the evaluation', async () => {
    const { answer, events } = await scaled(undefined, { Count: 1 }, false);
    expect(events).toMatchObject([{ type: 'ScalingEventRegister', payload: { ScalingEvent: { EvalID: 'e' } } }]);
    expect(answer).toMatchObject({ Index: 51, JobModifyIndex: 30 });
  });
});

it('API-173: not beyond what one job may have in all', async () => {
  const refused = { code: 'invalid', message: expect.stringContaining('job_max_count: 50001 > 50000') as string };
  await expect(scaled(undefined, { Count: 50_001 })).rejects.toMatchObject(refused);
  expect((await scaled(undefined, { Count: 50_000 })).registrations).toHaveLength(1);
});
