import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadIdentity } from '@waybill/agent';
import { type RunningServer, startNats } from '@waybill/embedded';
import { connect, type NatsLink, userKey } from '@waybill/journal';
import { machineUser, natsAccounts } from '@waybill/rpc';
import { KEYED_SERVICES, type KeyedService, keyedServiceUser, newUuid } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { eventually } from '../support/wait.js';

/** Every service has a key of its own, and the machine too. */
let dir: string;
let nats: RunningServer;
let waybill: WaybillProcesses;
const links: NatsLink[] = [];
const seed = (name: string): string => path.join(dir, `${name}.seed`);

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
  const agentDir = path.join(dir, 'agent');
  const { nodeId } = await loadIdentity(agentDir, newUuid);
  const users = await Promise.all(
    KEYED_SERVICES.map(async (kind) => keyedServiceUser(kind, await userKey(seed(kind)))),
  );
  const accounts = natsAccounts([...users, machineUser(await userKey(seed('agent')), nodeId)]);
  nats = await startNats({ dir: path.join(dir, 'nats'), accounts });
  const services = [...KEYED_SERVICES, 'agent'] as const;
  const env = { WAYBILL_NATS_URL: nats.url, WAYBILL_AGENT_DIR: agentDir };
  const ownKey = (name: string) => ({ WAYBILL_NATS_CREDENTIALS: seed(name) });
  waybill = await WaybillProcesses.startTogether(env, services, services, {}, ownKey);
}, 90_000);
afterAll(async () => {
  for (const link of links) await link.close();
  await waybill?.stop();
  await nats?.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface AllocStub {
  readonly ID: string;
  readonly NodeID: string;
  readonly ClientStatus: string;
}
interface Deployment {
  readonly ID: string;
  readonly JobVersion: number;
  readonly TaskGroups: Record<string, { readonly HealthyAllocs: number }>;
}

const api = async <T>(method: string, url: string, body?: unknown): Promise<T> => {
  const answer = await waybill.api.raw(url, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
};
const allocsOf = (job: string) => api<AllocStub[]>('GET', `/v1/job/${job}/allocations`);
const running = (job: string): Promise<AllocStub> =>
  eventually(`${job} runs`, async () => (await allocsOf(job)).find(({ ClientStatus }) => ClientStatus === 'running'));

async function linkAs(kind: KeyedService): Promise<NatsLink> {
  const link = await connect({ url: nats.url, name: kind, credentialsFile: seed(kind) });
  links.push(link);
  return link;
}

/** Until the projector has created the streams and begun the log, the others try in vain. */
const AT_FIRST_START = /STREAM\.CREATE\.|TXN\.system/;

/** What the server has refused, by its log. */
const refusals = (): string[] =>
  readdirSync(path.join(dir, 'nats'))
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) => readFileSync(path.join(dir, 'nats', name), 'utf8').split('\n'))
    .filter((line) => line.includes('Violation'));
const violations = (): string[] => refusals().filter((line) => !AT_FIRST_START.test(line));

/** Whether the server lets the key publish. */
async function mayPublish(kind: KeyedService, subject: string): Promise<boolean> {
  const { nc } = await linkAs(kind);
  let refused = false;
  void (async () => {
    // Ends with the connection.
    for await (const status of nc.status()) if (status.type === 'error') refused = true;
  })();
  nc.publish(subject, 'x');
  await nc.flush();
  await nc.flush(); // what came before the first answer has reached the loop above by the second
  return !refused;
}

describe('a control plane whose services have a key each', () => {
  it('AU-252: does all its work', { timeout: 90_000 }, async () => {
    const task = {
      Name: 'say',
      Driver: 'raw_exec',
      Config: { command: '/bin/sh', args: ['-c', 'echo hello; sleep 600'] },
    };
    const Update = { MaxParallel: 1, Canary: 1, MinHealthyTime: 0, HealthyDeadline: 60e9, ProgressDeadline: 0 };
    const group = { Name: 'g', Count: 1, Tasks: [task], Update };
    const job = (over = {}) => ({
      Job: { ID: 'web', Type: 'service', Datacenters: ['*'], TaskGroups: [{ ...group, ...over }] },
    });
    await api('PUT', '/v1/jobs', job());
    const first = await running('web');
    const logs = await waybill.api.raw(`/v1/client/fs/logs/${first.ID}?task=say&type=stdout&plain=true`);
    expect(await logs.text()).toBe('hello\n');

    await api('PUT', '/v1/jobs', job({ Meta: { version: '2' } }));
    const deployment = await eventually('its canary is healthy', async () => {
      const all = await api<Deployment[]>('GET', '/v1/job/web/deployments');
      return all.find(({ JobVersion, TaskGroups }) => JobVersion === 1 && TaskGroups['g']?.HealthyAllocs === 1);
    });
    await api('PUT', `/v1/deployment/promote/${deployment.ID}`, { DeploymentID: deployment.ID, All: true });

    const volume = {
      Name: 'data',
      NodeID: first.NodeID,
      PluginID: 'mkdir',
      RequestedCapabilities: [{ AttachmentMode: 'file-system', AccessMode: 'single-node-writer' }],
    };
    const made = await api<{ Volume: { ID: string; HostPath: string } }>('PUT', '/v1/volume/host/create', {
      Volume: volume,
    });
    expect(made.Volume.HostPath).not.toBe('');
    await api('DELETE', `/v1/volume/host/${made.Volume.ID}`);

    const launched = { ...task, Config: { command: '/bin/true' } };
    const nightly = {
      ID: 'nightly',
      Type: 'batch',
      Datacenters: ['*'],
      Periodic: { Enabled: true, Spec: '0 0 1 1 *', SpecType: 'cron' },
      TaskGroups: [{ Name: 'g', Tasks: [launched] }],
    };
    await api('PUT', '/v1/jobs', { Job: nightly });
    await api('PUT', '/v1/job/nightly/periodic/force');
    expect(await api('PUT', '/v1/job/web/plan', { ...job({ Count: 2 }), Diff: true })).toHaveProperty('Annotations');
    await api('PUT', '/v1/system/gc');
    await api('PUT', '/v1/system/reconcile/summaries');
    expect((await api<{ Members: unknown[] }>('GET', '/v1/agent/members')).Members).toHaveLength(1);
    expect(await api('GET', `/v1/client/stats?node_id=${first.NodeID}`)).toHaveProperty('CPU');
    expect((await waybill.api.raw('/v1/operator/snapshot')).status).toBe(200);
    const drain = { DrainSpec: { Deadline: 1e9, IgnoreSystemJobs: false }, MarkEligible: true };
    await api('PUT', `/v1/node/${first.NodeID}/drain`, drain);
    await eventually('it is drained', async () =>
      (await allocsOf('web')).every(({ ClientStatus }) => ClientStatus !== 'running'),
    );
    const events = await waybill.api.raw('/v1/event/stream?index=1');
    expect(events.status).toBe(200);
    await events.body?.cancel();
    expect(violations()).toEqual([]);
  });

  it.each([
    ['a scheduler writes no transaction', 'scheduler', 'TXN.job.default.web'],
    ['a scheduler drains no machine', 'scheduler', 'rpc.nodes.updateDrain'],
    ['a scheduler reaches no machine', 'scheduler', 'rpc.agent.restartAlloc.some-node'],
    ['nodes cannot take the lease of the broker', 'nodes', '$KV.LEASES.broker'],
    ['nodes cannot write that they hold the role of the broker', 'nodes', 'TXN.lease.broker'],
    ['nodes restart no task', 'nodes', 'rpc.agent.restartAlloc.some-node'],
    ['the API calls no plugin of a machine', 'api', 'rpc.agent.csiNodeDetachVolume.some-node'],
    ['the API hands over no plan', 'api', 'rpc.broker.submitPlan'],
    ['the API holds no role', 'api', '$KV.LEASES.broker'],
    ['deployments write no event', 'deployments', 'EVENTS.Job.default'],
    ['volumes do not trim the log', 'volumes', '$JS.API.STREAM.PURGE.TXN'],
    ['volumes delete no stream', 'volumes', '$JS.API.STREAM.DELETE.TXN'],
    ['nobody deletes the log', 'projector', '$JS.API.STREAM.DELETE.TXN'],
    ['volumes do not replace the state', 'volumes', 'TXN.system'],
    ['the projector registers no job', 'projector', 'TXN.job.default.web'],
    ['nobody deletes audit records', 'api', '$JS.API.STREAM.PURGE.AUDIT'],
    ['a scheduler has no role to record', 'scheduler', 'rpc.api.recordRoleEvents'],
  ] as const)('EB-10, AU-252: %s', async (_, kind, subject) => {
    expect(await mayPublish(kind, subject)).toBe(false);
    expect(refusals().some((line) => line.includes(subject))).toBe(true);
  });

  it('AU-252: the same subjects are open to those whose work they are', async () => {
    expect(await mayPublish('broker', 'TXN.ignore')).toBe(true);
    expect(await mayPublish('api', 'rpc.nodes.updateDrain')).toBe(true);
    expect(await mayPublish('volumes', 'rpc.agent.csiNodeDetachVolume.some-node')).toBe(true);
    expect(await mayPublish('volumes', 'rpc.api.recordRoleEvents')).toBe(true);
  });
});
