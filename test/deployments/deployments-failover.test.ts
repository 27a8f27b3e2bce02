import { connect } from '@waybill/journal';
import type { Deployment } from '@waybill/model';
import { failDeployment, isNobodyThere, NatsRpc } from '@waybill/rpc';
import { serviceActor } from '@waybill/state';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

const HOLDERS = ['deployments', 'deployments-b'] as const;
const NOTHING = { DeploymentID: '', For: { Actor: serviceActor('test'), Reason: '', RequestID: '' } };
const SECOND_NS = 1_000_000_000;

let waybill: WaybillProcesses;
beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, undefined, ['deployments']);
  await waybill.startService('deployments', 'deployments-b');
  await eventually('the node is ready', async () =>
    (await waybill.api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(() => waybill?.stop());

const job = (version: number) => ({
  ID: 'web',
  Datacenters: ['*'],
  Update: { MaxParallel: 1, HealthCheck: 'task_states', MinHealthyTime: SECOND_NS },
  TaskGroups: [
    {
      Name: 'web',
      Count: 3,
      Tasks: [
        {
          Name: 'web',
          Driver: 'raw_exec',
          Env: { VERSION: String(version) },
          Config: { command: '/bin/sleep', args: ['600'] },
          Resources: { CPU: 20, MemoryMB: 16 },
          KillTimeout: SECOND_NS,
        },
      ],
    },
  ],
});

const newest = () => waybill.api.get<Deployment | null>('/v1/job/web/deployment');

const reaches = (version: number, status: string) =>
  eventually(
    `version ${version} is ${status}`,
    async () => {
      const deployment = await newest();
      return deployment?.JobVersion === version && deployment.Status === status && deployment;
    },
    60_000,
  );

async function holder(): Promise<(typeof HOLDERS)[number]> {
  for (const name of HOLDERS) {
    if (!waybill.running.has(name)) continue;
    const { role } = (await (await fetch(`${waybill.opsUrl(name)}/readyz`)).json()) as { role: string };
    if (role.startsWith('holder')) return name;
  }
  throw new Error('nobody holds the role');
}

/** NATS has noticed that the process is gone: what is asked now is certainly not lost with it. */
async function nobodyAnswers(): Promise<void> {
  const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  const ask = () => new NatsRpc(link.nc).ask(failDeployment, NOTHING, { timeoutMs: 200 });
  await eventually('nobody answers', () => ask().then(() => false, isNobodyThere));
  await link.close();
}

const pause = (ID: string, Pause: boolean) =>
  waybill.api.raw(`/v1/deployment/pause/${ID}`, {
    method: 'PUT',
    body: JSON.stringify({ DeploymentID: ID, Pause }),
  });

it('DP-S02, DP-604, DP-1216, API-39: the holder is killed in the middle of a rollout: a pause is held until the next one stands, and the rollout ends as if nothing had been', async () => {
  await waybill.api.register(job(0));
  await reaches(0, 'successful');
  await waybill.api.register(job(1));
  const { ID } = await eventually('the first of three is healthy', async () => {
    const deployment = await newest();
    return deployment?.JobVersion === 1 && deployment.TaskGroups['web']?.HealthyAllocs === 1 && deployment;
  });

  await waybill.kill(await holder());
  await nobodyAnswers();
  const paused = await pause(ID, true);
  expect([paused.status, await paused.text()]).toEqual([200, expect.stringContaining('"EvalID":""')]);
  expect(await newest()).toMatchObject({ ID, Status: 'paused' });
  expect((await pause(ID, false)).status).toBe(200);

  const { TaskGroups } = await reaches(1, 'successful');
  expect(TaskGroups['web']).toMatchObject({ PlacedAllocs: 3, HealthyAllocs: 3, UnhealthyAllocs: 0 });
  const allocs = await waybill.api.get<{ JobVersion: number; DesiredStatus: string }[]>('/v1/job/web/allocations');
  expect(allocs.filter((alloc) => alloc.DesiredStatus === 'run').map((alloc) => alloc.JobVersion)).toEqual([1, 1, 1]);
  expect(allocs).toHaveLength(6); // no round was doubled
}, 180_000);
