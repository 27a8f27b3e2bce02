import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const SELF = 'GET /v1/agent/self';

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
  api.play(`GET /v1/node/${NODE}`, { ID: NODE, Name: 'this-one' });
  api.play(`GET /v1/node/${NODE}/allocations`, []);
  api.play(`PUT /v1/node/${NODE}/drain`, { NodeModifyIndex: 7 });
  api.play(`PUT /v1/node/${NODE}/eligibility`, { NodeModifyIndex: 7 });
});
afterEach(() => api.stop());

const node = (...words: string[]) => api.run(['node', ...words]);

describe('the node of the agent at the address', () => {
  it('CL-502: -self is that node, in status, drain and eligibility', async () => {
    api.play(SELF, { config: {}, stats: { client: { node_id: NODE } } });
    expect((await node('status', '-self')).out).toMatch(/^ID += 1f3a9c2e-.*\nName += this-one\n/);
    expect((await node('drain', '-enable', '-self', '-detach')).out).toBe(`Node "${NODE}" drain strategy set\n`);
    expect((await node('eligibility', '-disable', '-self')).out).toContain(`Node "${NODE}" scheduling eligibility set`);
  });

  it('CL-502: a server is nobody’s node, and one that does not answer says so', async () => {
    api.play(SELF, { config: {}, stats: { nomad: { server: 'true' } } });
    expect(await node('status', '-self')).toMatchObject({ code: 1, err: 'Waybill not running in client mode\n' });
    api.play(SELF, [500, 'boom']);
    const failed = await node('status', '-self');
    expect([failed.code, failed.err]).toEqual([1, expect.stringMatching(/^Error querying agent info: .*boom/)]);
  });
});

describe('node config', () => {
  const SERVERS = '/v1/agent/servers';

  it('CL-522: shows the servers of an agent, one per line', async () => {
    api.play(`GET ${SERVERS}`, ['10.0.0.1:4647', '10.0.0.2:4647']);
    expect(await node('config', '-servers')).toMatchObject({ code: 0, out: '10.0.0.1:4647\n10.0.0.2:4647\n' });
  });

  it('CL-522: replaces them', async () => {
    api.play(`PUT ${SERVERS}`, {});
    const { code, out } = await node('config', '-update-servers', '10.0.0.1:4647', '10.0.0.2:4647');
    expect([code, out]).toEqual([0, 'Updated server list\n']);
    expect(api.seen.at(-1)?.query.getAll('address')).toEqual(['10.0.0.1:4647', '10.0.0.2:4647']);
  });

  it('CL-522: asks for a flag, for addresses, and says what the agent says', async () => {
    expect((await node('config')).err).toContain("The '-servers' or '-update-servers' flag(s) must be set\n");
    expect((await node('config', '-update-servers')).err).toContain(
      "If the '-update-servers' flag is set, at least one server argument must be provided\n",
    );
    expect(api.seen).toEqual([]);
    api.play(`GET ${SERVERS}`, [501, 'only on a node agent']);
    const failed = await node('config', '-servers');
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('only on a node agent')]);
  });
});
