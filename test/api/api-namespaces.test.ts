import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api']);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

const answerOf = async (path: string, method = 'GET', body?: unknown): Promise<[number, string]> => {
  const answer = await api.raw(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return [answer.status, await answer.text()];
};
const names = async (query = ''): Promise<string[]> =>
  (await api.get<{ Name: string }[]>(`/v1/namespaces${query}`)).map(({ Name }) => Name);

describe('namespaces', () => {
  it('OP-175, OP-176: default always exists; it may be described and not deleted', async () => {
    await eventually('the first transaction is projected', async () => (await names()).includes('default'));
    expect(await names()).toEqual(['default']);
    expect(await answerOf('/v1/namespace/default', 'DELETE')).toEqual([400, 'can not delete default namespace']);
    expect(await answerOf('/v1/namespace/default', 'PUT', { Name: 'default', Description: 'ours' })).toEqual([200, '']);
    expect(await api.get('/v1/namespace/default')).toMatchObject({ Name: 'default', Description: 'ours' });
  });

  it('API-4, API-255, OP-176, OP-178: made by PUT or POST, with and without the name in the path, and read back as said', async () => {
    const said = {
      Name: 'team-a',
      Description: 'first',
      Quota: '',
      Capabilities: {
        EnabledTaskDrivers: ['raw_exec'],
        DisabledTaskDrivers: null,
        EnabledNetworkModes: null,
        DisabledNetworkModes: null,
      },
      NodePoolConfiguration: null,
      VaultConfiguration: null,
      ConsulConfiguration: null,
      Meta: { owner: 'ops' },
    };
    expect(await answerOf('/v1/namespace', 'PUT', said)).toEqual([200, '']);
    expect(await answerOf('/v1/namespace/team-b', 'POST', { name: 'team-b' })).toEqual([200, '']);
    expect(await api.get('/v1/namespace/team-a')).toMatchObject(said);
    expect(await names()).toEqual(['default', 'team-a', 'team-b']);
    expect(await names('?prefix=team')).toEqual(['team-a', 'team-b']);
    expect(await names(`?filter=${encodeURIComponent('Meta.owner == "ops"')}`)).toEqual(['team-a']);
  });

  it('OP-177: one that does not exist', async () => {
    expect(await answerOf('/v1/namespace/nowhere')).toEqual([404, 'Namespace not found']);
  });

  it('API-255, OP-178, OP-179: what may not be is refused, with what is wrong, and not stored', async () => {
    expect(await answerOf('/v1/namespace/x', 'PUT', { Name: 'y' })).toEqual([
      400,
      'Namespace name does not match request path',
    ]);
    expect((await answerOf('/v1/namespace', 'PUT', { Name: 'a b', Description: 'x'.repeat(257) }))[1]).toBe(
      'Invalid namespace "a b": 2 errors occurred:\n\t* invalid name "a b". Must match regex ^[a-zA-Z0-9-]{1,128}$\n\t* description longer than 256\n\n',
    );
    for (const [member, text] of [
      ['NodePoolConfiguration', 'invalid node pool configuration: Node Pools Governance is unlicensed.'],
      ['VaultConfiguration', 'Multi-Cluster Vault is unlicensed.'],
      ['ConsulConfiguration', 'Multi-Cluster Consul is unlicensed.'],
    ] as const) {
      const [status, answer] = await answerOf('/v1/namespace', 'PUT', { Name: 'rich', [member]: { Default: 'x' } });
      expect([status, answer]).toEqual([400, expect.stringContaining(text)]);
    }
    expect(await names()).not.toContain('rich');
  });

  it('OP-180, OP-183: one with a job that is not dead stays; a dead job goes with it', async () => {
    expect(await answerOf('/v1/namespace/nowhere', 'DELETE')).toEqual([404, 'namespace not found']);
    const job = shellJob('web', 'exec sleep 600');
    expect((await answerOf('/v1/jobs?namespace=team-b', 'PUT', { Job: job }))[0]).toBe(200);
    expect(await answerOf('/v1/namespace/team-b', 'DELETE')).toEqual([
      409,
      '1 error occurred:\n\t* namespace "team-b" has non-terminal jobs in regions: [global]\n\n',
    ]);
    await answerOf('/v1/job/web?namespace=team-b', 'DELETE');
    await eventually('the job is dead', async () => {
      return (await api.get<{ Status: string }>('/v1/job/web?namespace=team-b')).Status === 'dead';
    });
    expect(await answerOf('/v1/namespace/team-b', 'DELETE')).toEqual([200, '']);
    expect(await names()).toEqual(['default', 'team-a']);
    expect(await answerOf('/v1/job/web?namespace=team-b')).toEqual([404, 'job not found']);
  });

  it('OP-181: a namespace that does not exist takes no job', async () => {
    expect(await answerOf('/v1/jobs?namespace=nowhere', 'PUT', { Job: shellJob('web', 'true') })).toEqual([
      400,
      expect.stringContaining('job "web" is in nonexistent namespace "nowhere"'),
    ]);
  });

  it('API-3: a wrong method', async () => {
    expect(await answerOf('/v1/namespaces', 'PUT', {})).toEqual([405, 'Invalid method']);
    expect(await answerOf('/v1/namespace')).toEqual([405, 'Invalid method']);
  });
});
