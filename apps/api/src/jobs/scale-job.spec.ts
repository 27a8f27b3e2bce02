import { aRequest } from '../http/request.fixture.js';
import { writtenDrafts } from '../written-drafts.fixture.js';
import type { Deployment, DeploymentStatus } from '@waybill/model';
import { fixtures, type TxnDraft } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Requester } from '../http/requester.js';
import { ScaleJob } from './scale-job.js';

const job = fixtures.aJob({ ModifyIndex: 30, JobModifyIndex: 30, CreateIndex: 10 });

/** Scales `web` of one instance, beside this latest deployment. */
async function scaled(latest: Deployment | undefined, body: object) {
  const { drafts, writer, newId } = writtenDrafts();
  const scale = new ScaleJob({
    writer,
    jobs: { job: async () => ({ row: job, sequence: 30 }) },
    register: { refuseWhenDisabled: async () => {} },
    read: { jobDeployment: async () => ({ row: latest }) },
    newId,
  });
  const request = { Target: { Group: 'web' }, ...body };
  const answer = await scale.scale('default', 'web', request, Requester.of(aRequest()));
  const ofType = (type: TxnDraft['type']) => drafts.filter((draft) => draft.type === type);
  const ids = drafts.map(({ requestId }) => requestId);
  return { answer, registrations: ofType('JobRegister'), events: ofType('ScalingEventRegister'), ids };
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
    const Scaling = { TaskGroup: 'web', ScalingEvent: { ...ScalingEvent, EvalID: 'new-id' } };
    expect(registrations).toMatchObject([{ payload: { Scaling, EnforceIndex: true } }]);
    expect(events).toEqual([]);
    expect(answer.Index).toBe(50);
  });

  it('API-173: of a count that makes no new version the event is written alone, with the evaluation', async () => {
    const { answer, events, ids } = await scaled(undefined, { Count: 1 });
    expect(events).toMatchObject([{ payload: { ScalingEvent: { EvalID: 'new-id' } } }]);
    expect(answer).toMatchObject({ EvalID: 'new-id', EvalCreateIndex: 50, Index: 51, JobModifyIndex: 30 });
    expect(new Set(ids).size, 'ST-6: a second transaction with the same id would be a copy').toBe(2);
  });
});

it('API-173: not beyond what one job may have in all', async () => {
  const refused = { code: 'invalid', message: expect.stringContaining('job_max_count: 50001 > 50000') as string };
  await expect(scaled(undefined, { Count: 50_001 })).rejects.toMatchObject(refused);
  expect((await scaled(undefined, { Count: 50_000 })).registrations).toHaveLength(1);
});
