import path from 'node:path';
import { type RunningServer, startNats, startPostgres } from '@waybill/embedded';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;
const returned: RunningServer[] = [];

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, undefined, ['broker']);
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(async () => {
  await waybill?.stop();
  for (const server of returned) await server.stop();
});

const put = (job: object): Promise<Response> =>
  api.raw('/v1/jobs', { method: 'PUT', body: JSON.stringify({ Job: job }) });

const runs = (id: string): Promise<boolean> =>
  eventually(`${id} runs`, async () =>
    (await api.get<{ ClientStatus: string }[]>(`/v1/job/${id}/allocations`)).some((a) => a.ClientStatus === 'running'),
  );

describe('NATS is down', () => {
  it('OP-275, API-39, API-642, OP-6: writes answer 503 within 2 s and say why, reads answer; both work when it is back', async () => {
    await api.register(shellJob('before', 'exec sleep 600'));
    await runs('before');
    const { port } = waybill.stack.nats;
    await waybill.stack.nats.stop();

    const began = performance.now();
    const refused = await put(shellJob('during', 'exec sleep 600'));
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(refused.status).toBe(503);
    expect(await refused.text()).toMatch(/log.*cannot be reached|not available/);
    const read = await api.raw('/v1/job/before?stale');
    expect([read.status, read.headers.get('x-nomad-knownleader')]).toEqual([200, 'false']);
    expect(Number(read.headers.get('x-nomad-lastcontact'))).toBeGreaterThan(0);
    expect(((await read.json()) as { ID: string }).ID).toBe('before');
    expect((await fetch(`${waybill.opsUrl('broker')}/readyz`)).status).toBe(503);

    returned.push(await startNats({ dir: path.join(waybill.dir, 'stack', 'nats'), port }));
    await eventually('a write is accepted again', async () => (await put(shellJob('after', 'exec sleep 600'))).ok);
    await runs('after');
    expect((await api.raw('/v1/job/during')).status).toBe(404);
    expect(await allocationsStarted('before'), 'what ran before was not restarted').toBe(1);
  });
});

describe('Postgres is down', () => {
  it('scheduling goes on, reads answer 503, and the read model catches up by itself', async () => {
    // A service job that fails now and then makes the agent and the broker write without any user.
    const { port } = waybill.stack.postgres;
    await api.register(shellJob('witness', 'exec sleep 600'));
    await runs('witness');
    const before = Number((await api.raw('/v1/jobs')).headers.get('x-nomad-index'));
    await waybill.stack.postgres.stop();

    const began = performance.now();
    const read = await api.raw('/v1/jobs');
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(read.status).toBe(503);
    expect(await read.text()).toContain('PostgreSQL');

    // Nothing but the read model needs Postgres: an agent that comes now is registered, and its node becomes ready.
    await waybill.startService('agent', 'agent-2', {
      WAYBILL_AGENT_DIR: path.join(waybill.dir, 'agent-2'),
      WAYBILL_NODE_NAME: 'late-node',
    });

    returned.push(await startPostgres({ dir: path.join(waybill.dir, 'stack', 'postgres'), port, throwaway: true }));
    await eventually('reads answer', async () => (await api.raw('/v1/jobs')).ok);
    await eventually('the late node is ready', async () =>
      (await api.get<{ Name: string; Status: string }[]>('/v1/nodes')).some(
        (n) => n.Name === 'late-node' && n.Status === 'ready',
      ),
    );
    await api.register(shellJob('later', 'exec sleep 600'));
    await runs('later');
    expect(Number((await api.raw('/v1/jobs')).headers.get('x-nomad-index'))).toBeGreaterThan(before);
  });
});

/** How often tasks of a job were started, by their own account. */
async function allocationsStarted(id: string): Promise<number> {
  const allocs = await api.get<{ TaskStates: Record<string, { Events: { Type: string }[] }> }[]>(
    `/v1/job/${id}/allocations`,
  );
  return allocs.flatMap((a) => Object.values(a.TaskStates).flatMap((t) => t.Events.filter((e) => e.Type === 'Started')))
    .length;
}
