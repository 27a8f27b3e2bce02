import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface NodeAnswer {
  ID: string;
  Name: string;
  Status: string;
  SecretID: string;
  CreateIndex: number;
  SchedulingEligibility: string;
  DrainStrategy: { Deadline: number } | null;
}

let waybill: WaybillProcesses;
let api: ApiClient;

const ready = () =>
  eventually('the node is ready', async () =>
    (await api.get<NodeAnswer[]>('/v1/nodes')).find(({ Status }) => Status === 'ready'),
  );

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether();
  api = waybill.api;
  await ready();
});
afterAll(() => waybill?.stop());

const send = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const answer = await api.raw(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return [answer.status, await answer.text()];
};
const STRANGER = '00000000-0000-4000-8000-000000000000';

describe('node pools over HTTP', () => {
  it('ND-181 ND-182 ND-183 ND-185 AU-194: made by PUT or POST with or without a name in the path; bad ones change nothing', async () => {
    expect(await send('PUT', '/v1/node/pool/gpu', { Name: 'gpu', NodeIdentityTTL: '1h' })).toEqual([200, '']);
    expect(await send('POST', '/v1/node/pools', { Name: 'edge', Description: 'far away' })).toEqual([200, '']);
    expect(await send('PUT', '/v1/node/pool/gpu', { Name: 'other' })).toEqual([
      400,
      'Node pool name does not match request path',
    ]);
    const [status, text] = await send('PUT', '/v1/node/pools', { Name: 'no spaces' });
    expect([status, text.startsWith('invalid node pool "no spaces": ')]).toEqual([400, true]);
    expect((await send('PUT', '/v1/node/pools', { Name: 'long', Description: 'x'.repeat(257) }))[0]).toBe(400);
    expect(await send('PUT', '/v1/node/pools', { Name: 'endless', NodeIdentityTTL: '-1s' })).toEqual([
      400,
      'invalid node pool "endless": node identity TTL must not be negative',
    ]);
    expect(await send('PUT', '/v1/node/pools', { Name: 'paid', SchedulerConfiguration: {} })).toEqual([
      400,
      'Feature "Node Pools Governance" is unlicensed',
    ]);
    const names = (await api.get<{ Name: string }[]>('/v1/node/pools')).map(({ Name }) => Name);
    expect(names).toEqual(['all', 'default', 'edge', 'gpu']);
    expect(await api.get('/v1/node/pool/gpu')).toMatchObject({ NodeIdentityTTL: 3_600e9 });
    expect(await send('GET', '/v1/node/pool/none')).toEqual([404, 'node pool not found']);
  });

  it('ND-184 ND-186: built-in, unknown and used pools are not deleted', async () => {
    expect(await send('PUT', '/v1/node/pools', { Name: 'all' })).toEqual([
      400,
      'modifying node pool "all" is not allowed',
    ]);
    expect(await send('DELETE', '/v1/node/pool/all')).toEqual([400, 'deleting node pool "all" is not allowed']);
    // What is in use is said before that it is built in.
    expect(await send('DELETE', '/v1/node/pool/default')).toEqual([
      409,
      expect.stringContaining('\t* node pool "default" has nodes in regions: [global]'),
    ]);
    expect(await send('DELETE', '/v1/node/pool/none')).toEqual([404, 'node pool none not found']);
    await api.register({ ...shellJob('in-edge', 'exec sleep 600'), NodePool: 'edge' });
    expect(await send('DELETE', '/v1/node/pool/edge')).toEqual([
      409,
      '1 error occurred:\n\t* node pool "edge" has non-terminal jobs in regions: [global]\n\n',
    ]);
    expect(await send('DELETE', '/v1/node/pool/gpu')).toEqual([200, '']);
  });

  it('ND-187: nodes and jobs of a pool; every node is in `all`; no prefix', async () => {
    const names = async (path: string) => (await api.get<{ Name: string }[]>(path)).map(({ Name }) => Name);
    expect(await names('/v1/node/pool/all/nodes')).toEqual(['test-node']);
    expect(await names('/v1/node/pool/default/nodes')).toEqual(['test-node']);
    expect(await names('/v1/node/pool/edge/nodes')).toEqual([]);
    expect(await names('/v1/node/pool/edge/jobs')).toEqual(['in-edge']);
    for (const of of ['nodes', 'jobs'])
      expect(await send('GET', `/v1/node/pool/all/${of}?prefix=aa`)).toEqual([400, 'prefix argument not allowed']);
  });
});

describe('nodes over HTTP', () => {
  it('ND-21 ND-227: a filter sees no secret', async () => {
    const filtered = (filter: string) => send('GET', `/v1/nodes?filter=${encodeURIComponent(filter)}`);
    for (const filter of ['SecretID != ""', 'SecretID matches "^[0-7]"'])
      expect(await filtered(filter)).toEqual([400, expect.stringContaining('SecretID')]);
  });

  it('ND-2 ND-3 ND-4: resources and operating system only when asked for', async () => {
    const stub = async (query: string) => (await api.get<object[]>(`/v1/nodes${query}`))[0]!;
    expect(Object.keys(await stub(''))).not.toEqual(expect.arrayContaining(['NodeResources']));
    expect(await stub('?resources=true')).toHaveProperty('ReservedResources');
    expect(Object.keys(((await stub('?os=true')) as { Attributes: object }).Attributes)).toEqual(['os.name']);
    const [status, text] = await send('GET', '/v1/nodes?resources=maybe');
    expect([status, text.startsWith('Failed to parse node list fields: ')]).toEqual([400, true]);
  });

  it('API-201, ND-14 ND-17 ND-19 API-205: bad writes are refused with the texts clients match', async () => {
    const { ID } = await ready();
    expect(await send('PUT', `/v1/node/${STRANGER}/purge`)).toEqual([404, 'node not found']);
    expect(await send('POST', `/v1/node/${STRANGER}/evaluate`)).toEqual([404, 'node not found']);
    expect(await send('PUT', `/v1/node/${STRANGER}/drain`, { DrainSpec: null })).toEqual([404, 'node not found']);
    expect(await send('PUT', `/v1/node/${ID}/eligibility`, { Eligibility: 'x' })).toEqual([
      400,
      'invalid scheduling eligibility "x"',
    ]);
    expect((await api.raw(`/v1/node/${ID}/drain`, { method: 'PUT', body: '{' })).status).toBe(400);
    expect(await send('DELETE', `/v1/node/${ID}/purge`)).toEqual([405, 'Invalid method']);
    expect(await ready()).toMatchObject({ ID, SchedulingEligibility: 'eligible' });
  });

  it('ND-140 ND-142 ND-144 API-207: a live node that is purged comes back as a new one, and its jobs are looked at', async () => {
    const before = await ready();
    await api.register(shellJob('works-here', 'exec sleep 600'));
    await eventually('it runs', async () =>
      (await api.get<{ ClientStatus: string }[]>('/v1/job/works-here/allocations')).some(
        ({ ClientStatus }) => ClientStatus === 'running',
      ),
    );
    const answer = await api.raw(`/v1/node/${before.ID}/purge`, { method: 'PUT' });
    const purged = (await answer.json()) as { EvalIDs: string[]; Index: number; NodeModifyIndex: number };
    expect(purged.EvalIDs.length).toBeGreaterThanOrEqual(1);
    expect(answer.headers.get('X-Nomad-Index')).toBe(String(purged.Index));
    const again = await eventually('it registers again', async () => {
      const nodes = await api.get<NodeAnswer[]>('/v1/nodes');
      return nodes.find(({ ID, CreateIndex }) => ID === before.ID && CreateIndex > purged.Index);
    });
    expect(again.CreateIndex).toBeGreaterThan(before.CreateIndex);
  });
});
