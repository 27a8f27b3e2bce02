import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClient } from './support/api-client.js';
import { WaybillProcesses } from './support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.start({}, ['projector', 'api']);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

const answerOf = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const answer = await api.raw(path, { method });
  return [answer.status, await answer.text()];
};

describe('whom a client talks to', () => {
  it('API-236, API-262: what clients need of agent/self', async () => {
    const self = await api.get<Record<string, object>>('/v1/agent/self');
    expect(self['config']).toMatchObject({
      Region: 'global',
      Datacenter: 'dc1',
      Name: expect.any(String),
      Server: { Enabled: true },
      Client: { Enabled: false },
      ACL: { Enabled: false },
      UI: { Enabled: false, ShowCLIHints: false, Label: null },
      Version: { Version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      Waybill: { TraceURL: '' },
    });
    const leader_addr = await api.get<string>('/v1/status/leader');
    const stats = { server: 'true', leader: 'true', leader_addr, bootstrap: 'true', known_regions: '1' };
    expect(self['stats']).toEqual({ nomad: stats });
  });

  it('API-237, OP-75: health, of what is here and of what is not', async () => {
    expect(await answerOf('/v1/agent/health')).toEqual([200, '{"server":{"ok":true,"message":"ok"}}']);
    expect(await answerOf('/v1/agent/health?type=server')).toEqual([200, '{"server":{"ok":true,"message":"ok"}}']);
    expect(await answerOf('/v1/agent/health?type=client')).toEqual([
      500,
      '{"client":{"ok":false,"message":"client not enabled"}}',
    ]);
    expect(await answerOf('/v1/agent/health?type=client&type=server')).toEqual([
      500,
      '{"client":{"ok":false,"message":"client not enabled"},"server":{"ok":true,"message":"ok"}}',
    ]);
  });

  it('API-239: a member, with the tags that are printed', async () => {
    const { Members } = await api.get<{ Members: object[] }>('/v1/agent/members');
    expect(Members).toEqual([
      expect.objectContaining({
        Name: 'waybill.global',
        Status: 'alive',
        Tags: expect.objectContaining({ region: 'global', dc: 'dc1', role: 'nomad', raft_vsn: '3', bootstrap: '1' }),
      }),
    ]);
  });

  it('a client that looks for Raft peers of a single server finds one, which leads, under the address of status/peers', async () => {
    const { Servers } = await api.get<{ Servers: object[] }>('/v1/operator/raft/configuration');
    const [Address] = await api.get<string[]>('/v1/status/peers');
    const ID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(Servers).toEqual([{ ID, Node: 'waybill.global', Address, Leader: true, Voter: true, RaftProtocol: '3' }]);
  });

  it('API-40, OP-111: without access control nothing of it answers but who everybody is', async () => {
    for (const path of ['tokens', 'token', 'policies', 'policy/a', 'policy/self', 'roles', 'bootstrap', 'token/a/b'])
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect(await answerOf(`/v1/acl/${path}`, method), path).toEqual([400, 'ACL support disabled']);
    expect(await api.get('/v1/acl/token/self')).toMatchObject({
      AccessorID: 'acls-disabled',
      Name: 'ACLs disabled token',
      Type: 'client',
    });
  });

  it('OP-100, OP-104: metrics of the control plane, in JSON and for Prometheus', async () => {
    const { Gauges } = await api.get<{ Gauges: { Name: string; Value: number; Labels: object }[] }>('/v1/metrics');
    const value = (name: string) => Gauges.find(({ Name }) => Name === name)?.Value;
    for (const status of ['pending', 'running', 'dead']) expect(value(`nomad.nomad.job_status.${status}`)).toBe(0);
    for (const name of [
      'raft.appliedIndex',
      'state.snapshotIndex',
      'runtime.alloc_bytes',
      'nomad.agent.http.connections',
    ])
      expect(value(`nomad.${name}`), name).toBeGreaterThan(0);
    const answer = await api.raw('/v1/metrics?format=prometheus');
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    expect(text).toMatch(/^nomad_nomad_job_status_running\{host="[^"]+"\} 0$/m);
    expect(text).toMatch(/^nomad_runtime_num_goroutines\{host="[^"]+"\} \d+$/m);
    expect(await answerOf('/v1/metrics', 'PUT')).toEqual([405, 'Invalid method']);
  });
});
