import type { Job } from '@waybill/model';
import { newUuid } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';
import { eventually } from '../support/wait.js';
import { WrittenRollouts } from '../support/written-rollouts.js';

let cluster: WrittenRollouts;
beforeAll(async () => {
  cluster = await WrittenRollouts.start();
});
afterAll(() => cluster?.stop());

const cli = (...words: string[]) => runCli(cluster.api.url, words);

describe('deployments over HTTP', () => {
  it('section 5, API-212, API-214, DP-1206: a canary becomes healthy, is promoted, and each step can be read', async () => {
    const web = await cluster.rollout('web');
    const { id, canary } = web;
    const body = { DeploymentID: id, All: true };
    expect(await cluster.put(`/v1/deployment/promote/${id}`, body)).toMatchObject({
      status: 409,
      text: '1 error occurred:\n\t* Task group "web" has 0/1 healthy allocations\n\n',
    });
    await web.report(true);
    await eventually('the watcher asks for an evaluation', async () => (await web.evaluations()).length === 1);

    const promoted = await cluster.put(`/v1/deployment/promote/${id}`, body);
    expect(promoted.status).toBe(200);
    const answer = JSON.parse(promoted.text) as Record<string, unknown>;
    expect(answer).toMatchObject({
      EvalCreateIndex: promoted.index,
      DeploymentModifyIndex: promoted.index,
      Index: promoted.index,
      RevertedJobVersion: null,
    });
    expect(await web.read()).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running',
      TaskGroups: { web: { Promoted: true, HealthyAllocs: 1 } },
    });
    expect((await web.evaluations()).map((e) => e.ID)).toContain(answer['EvalID']);
    const alloc = await cluster.api.get<{ DeploymentStatus: object }>(`/v1/allocation/${canary.ID}`);
    expect(alloc.DeploymentStatus).toMatchObject({ Healthy: true, Canary: false });
  });

  it('API-210, API-211, DP-1201, DP-1202: what is refused, and with which words', async () => {
    const refusing = await cluster.rollout('refusing');
    const { id } = refusing;
    for (const action of ['pause', 'promote', 'allocation-health', 'unblock']) {
      const at = `/v1/deployment/${action}/${id}`;
      expect(await cluster.put(at)).toMatchObject({ status: 400 });
      expect(await cluster.put(at, {})).toMatchObject({ status: 400, text: 'DeploymentID must be specified' });
      expect(await cluster.put(at, { DeploymentID: 'other' })).toMatchObject({
        status: 400,
        text: 'Deployment ID does not match',
      });
    }
    expect(await cluster.put(`/v1/deployment/allocation-health/${id}`, { DeploymentID: id })).toMatchObject({
      status: 400,
      text: 'must specify at least one healthy/unhealthy allocation ID',
    });
    expect(await cluster.put('/v1/deployment/run/x')).toMatchObject({ status: 405, text: 'Invalid method' });
    const gone = newUuid();
    expect(await cluster.put(`/v1/deployment/fail/${gone}`)).toMatchObject({
      status: 404,
      text: 'deployment not found',
    });
    expect(await cluster.put(`/v1/deployment/unblock/${id}`, { DeploymentID: id })).toMatchObject({
      status: 409,
      text: "can't unblock running deployment",
    });
    const paused = await cluster.put(`/v1/deployment/pause/${id}`, { DeploymentID: id, Pause: true });
    expect(JSON.parse(paused.text)).toMatchObject({ EvalID: '', EvalCreateIndex: 0, Index: paused.index });
    expect(await refusing.read()).toMatchObject({ Status: 'paused', ModifyIndex: paused.index });
    const failed = await cluster.put(`/v1/deployment/fail/${id}`);
    expect(JSON.parse(failed.text)).toMatchObject({ RevertedJobVersion: 0 });
    expect(await refusing.read()).toMatchObject({
      StatusDescription: 'Deployment marked as failed - rolling back to job version 0',
    });
    expect(await cluster.put(`/v1/deployment/fail/${id}`)).toMatchObject({
      status: 409,
      text: "can't fail terminal deployment",
    });
  });

  it('DP-604, DP-701, DP-805, API-163: the holder is killed; its successor fails the rollout and goes back; a user reverts that', async () => {
    const killed = await cluster.rollout('killed');
    await cluster.waybill.kill('deployments');
    await killed.report(false);
    await cluster.waybill.startService('deployments');
    const failed = await eventually('it is failed', async () => {
      const deployment = await killed.read();
      return deployment.Status === 'failed' && deployment;
    });
    expect(failed.StatusDescription).toBe('Failed due to unhealthy allocations - rolling back to job version 0');
    expect(await cluster.api.get<Job>('/v1/job/killed')).toMatchObject({ Version: 2, Priority: 40, Stable: true });

    const revert = (more: object) => cluster.put('/v1/job/killed/revert', { JobID: 'killed', ...more });
    expect(await revert({ JobVersion: 2 })).toMatchObject({ status: 400, text: "can't revert to current version" });
    expect(await revert({ JobVersion: 9 })).toMatchObject({
      status: 404,
      text: 'job "killed" in namespace "default" at version 9 not found',
    });
    expect(await revert({ JobVersion: 1, EnforcePriorVersion: 0 })).toMatchObject({
      status: 409,
      text: 'Current job has version 2; enforcing version 0',
    });
    expect(await revert({ JobVersion: 1, EnforcePriorVersion: 2 })).toMatchObject({ status: 200 });
    expect(await cluster.api.get<Job>('/v1/job/killed')).toMatchObject({ Version: 3, Priority: 60, Stable: false });
  });

  it('CL-601 to CL-604, CL-339, CL-351: the same from the command line', async () => {
    const typed = await cluster.rollout('typed');
    const { id } = typed;
    const short = id.slice(0, 8);
    expect((await cli('deployment', 'list')).out).toMatch(new RegExp(`${short} +typed +1 +running`));
    expect(await cli('deployment', 'pause', short)).toEqual({ code: 0, out: `Deployment "${id}" paused\n`, err: '' });
    expect((await cli('deployment', 'resume', '-detach', id)).out).toMatch(
      new RegExp(`^Deployment "${id}" resumed\nEvaluation ID: [0-9a-f-]{36}\n$`),
    );
    const early = await cli('job', 'promote', '-detach', 'typed');
    expect(early.code).toBe(1);
    expect(early.err).toContain(`Error promoting deployment "${id}" for job "typed": Unexpected response code: 409`);
    await typed.report(true);
    expect((await cli('deployment', 'promote', '-group=web', '-detach', id)).out).toMatch(/^Evaluation ID: /);
    const status = await cli('deployment', 'status', short);
    expect(status.out).toMatch(/Status += running/);
    expect(status.out).toMatch(/web +true +true +3 +1 +1 +1 +0/);
    expect((await cli('deployment', 'fail', '-detach', id)).out).toContain(
      `Deployment "${id}" failed. Auto-reverted to job version 0.\n`,
    );
    const history = (await cli('job', 'history', 'typed')).out;
    expect(history.match(/^Version +=.*$/gm)).toEqual(
      ['Version', 'Version', 'Version'].map((w, i) => `${w}     = ${2 - i}`),
    );
    expect((await cli('job', 'revert', '-detach', 'typed', '1')).out).toMatch(/^Evaluation ID: /);
    expect((await cli('deployment', 'status', 'zz')).code).toBe(1);
    expect(await cli('deployment', 'status', '-monitor', id)).toMatchObject({ code: 0 });
  });
});
