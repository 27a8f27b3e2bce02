import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AllocCheckStatus, Allocation, Deployment, ServiceRegistration } from '@waybill/model';
import { NS_PER_SECOND } from '@waybill/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Answers 200 as long as a file is there. */
const SERVER = `
  const { existsSync } = require('node:fs');
  require('node:http').createServer((request, response) => {
    response.writeHead(existsSync(process.env.HEALTHY) ? 200 : 500).end('no file');
  }).listen(Number(process.env.NOMAD_PORT_http), process.env.NOMAD_IP_http);`;

const SECONDS = 60_000;
let waybill: WaybillProcesses;
let api: ApiClient;
let healthFile: string;
beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  healthFile = path.join(waybill.dir, 'healthy');
  writeFileSync(healthFile, '');
}, 120_000);
afterAll(() => waybill.stop(), SECONDS);

/** A web server whose rollouts are judged by its check. */
const aJob = (id: string, version: string, { healthyS = 6, progressS = 20 } = {}) => ({
  ID: id,
  Datacenters: ['*'],
  Update: {
    HealthCheck: 'checks',
    MinHealthyTime: NS_PER_SECOND,
    HealthyDeadline: healthyS * NS_PER_SECOND,
    ProgressDeadline: progressS * NS_PER_SECOND,
  },
  TaskGroups: [
    {
      Name: 'web',
      Networks: [{ DynamicPorts: [{ Label: 'http' }] }],
      Tasks: [
        {
          Name: 'server',
          Driver: 'raw_exec',
          Config: { command: process.execPath, args: ['-e', SERVER] },
          Env: { HEALTHY: healthFile, VERSION: version },
          Resources: { CPU: 20, MemoryMB: 64 },
          KillTimeout: 2 * NS_PER_SECOND,
          Services: [
            {
              Name: id,
              Provider: 'nomad',
              PortLabel: 'http',
              Tags: [`v${version}`, 'dc-${NOMAD_DC}'],
              Checks: [
                { Name: 'alive', Type: 'http', Path: '/', Interval: NS_PER_SECOND, Timeout: NS_PER_SECOND },
                { Name: 'port', Type: 'tcp', Interval: NS_PER_SECOND, Timeout: NS_PER_SECOND },
              ],
            },
          ],
        },
      ],
    },
  ],
});

const rolledOut = (id: string, version: number, status: string) =>
  eventually(
    `the rollout of version ${version} of ${id} is ${status}`,
    async () => {
      const deployment = await api.get<Deployment | null>(`/v1/job/${id}/deployment`);
      return deployment?.JobVersion === version && deployment.Status === status && deployment;
    },
    SECONDS,
  );
const registrations = (id: string) => api.get<ServiceRegistration[]>(`/v1/service/${id}`);
const gone = (id: string) => eventually(`nothing offers ${id}`, async () => (await registrations(id)).length === 0);

describe('services and their checks, on real processes', () => {
  it('AG-124 AG-140 AG-145 AG-146: a rollout succeeds once the checks pass; who looks finds the service', async () => {
    await api.register(aJob('shop', '1'));
    await rolledOut('shop', 0, 'successful');
    const [found] = await registrations('shop');
    const [alloc] = await api.get<Allocation[]>('/v1/job/shop/allocations');
    expect(found).toMatchObject({
      ID: `_nomad-task-${alloc!.ID}-server-shop-http`,
      JobID: 'shop',
      NodeID: alloc!.NodeID,
      AllocID: alloc!.ID,
      Namespace: 'default',
      Tags: ['v1', 'dc-dc1'],
    });
    expect((await fetch(`http://${found!.Address}:${found!.Port}/`)).status).toBe(200);
    expect(await api.get('/v1/services')).toEqual([
      { Namespace: 'default', Services: [{ ServiceName: 'shop', Tags: ['dc-dc1', 'v1'] }] },
    ]);
    expect(await api.get('/v1/job/shop/services')).toEqual([found]);
    expect(await api.get(`/v1/allocation/${alloc!.ID}/services`)).toEqual([found]);
    const checks = await api.get<Record<string, AllocCheckStatus>>(`/v1/client/allocation/${alloc!.ID}/checks`);
    const shown = Object.entries(checks).map(([id, status]) => {
      expect(id).toBe(status.ID);
      return status;
    });
    expect(shown).toMatchObject([
      { Check: 'alive', Status: 'success', StatusCode: 200, Output: 'nomad: http ok', Task: 'server', Service: 'shop' },
      { Check: 'port', Status: 'success', Output: 'nomad: tcp ok', Mode: 'healthiness' },
    ]);
    expect(shown[1]).not.toHaveProperty('StatusCode');
  }, 90_000);

  it('AG-124 AG-126 AG-128: a rollout whose check fails is a failed one, and says why', async () => {
    rmSync(healthFile, { force: true });
    await api.register(aJob('shop', '2', { healthyS: 4, progressS: 8 }));
    await rolledOut('shop', 1, 'failed');
    writeFileSync(healthFile, '');
    const stubs = await api.get<Allocation[]>('/v1/job/shop/allocations');
    const states = stubs.map(({ TaskStates }) => TaskStates['server']!.Events);
    const messages = states
      .flat()
      .flatMap(({ Type, Message, Details }) => (Type === 'Alloc Unhealthy' ? [Details?.['message'] ?? Message] : []));
    expect(messages).toContain('Services not healthy by deadline: shop');
  }, 90_000);

  it('AG-142 ST-107: what is stopped offers nothing, and readers that wait are told', async () => {
    const before = await api.raw('/v1/service/shop');
    const index = Number(before.headers.get('x-nomad-index'));
    const waiting = api.get<ServiceRegistration[]>(`/v1/service/shop?index=${index}&wait=60s`);
    await api.stop('shop');
    expect((await waiting).length).toBeLessThan(((await before.json()) as unknown[]).length);
    await gone('shop');
    expect(await api.get('/v1/services')).toEqual([]);
  }, 90_000);

  it('a registration is deleted by hand; the paths say what is missing', async () => {
    await api.register(aJob('desk', '1'));
    await rolledOut('desk', 0, 'successful');
    const [found] = await registrations('desk');
    const remove = async (rest: string) => {
      const answer = await api.raw(`/v1/service/${rest}`, { method: 'DELETE' });
      return [answer.status, await answer.text()];
    };
    expect(await remove('desk')).toEqual([400, 'invalid URI']);
    expect(await remove('desk/')).toEqual([400, 'missing service id']);
    expect(await remove('/x')).toEqual([400, 'missing service name']);
    expect(await remove(`desk/${found!.ID}`)).toEqual([200, '']);
    expect(await remove(`desk/${found!.ID}`)).toEqual([404, 'service registration not found']);
    expect(await registrations('desk')).toEqual([]);
    const choose = await api.raw('/v1/service/desk?choose=none');
    expect(choose.status).toBe(400);
    expect((await api.raw('/v1/job/nothing/services')).status).toBe(404);
  }, 90_000);
});
