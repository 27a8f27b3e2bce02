import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
});
afterEach(() => api.stop());

const aRegistration = (over: object = {}) => ({
  ID: `_nomad-task-${ALLOC}-server-web-http`,
  ServiceName: 'web',
  Namespace: 'default',
  NodeID: NODE,
  Datacenter: 'dc1',
  JobID: 'shop',
  AllocID: ALLOC,
  Tags: ['blue', 'v1'],
  Address: '10.0.0.1',
  Port: 8080,
  ...over,
});

describe('services on the command line', () => {
  it('CL-861: service list, sorted; names only; with namespaces; none', async () => {
    api.play('GET /v1/services', [
      {
        Namespace: 'default',
        Services: [
          { ServiceName: 'web', Tags: ['a', 'b'] },
          { ServiceName: 'db', Tags: [] },
        ],
      },
    ]);
    expect((await api.run(['service', 'list'])).out).toBe(
      'Service Name  Tags\ndb            []\nweb           [a,b]\n',
    );
    expect((await api.run(['service', 'list', '-name'])).out).toBe('db\nweb\n');
    expect((await api.run(['service', 'list', '-namespace', '*'])).out).toMatch(/^Service Name +Namespace +Tags\n/);
    api.play('GET /v1/services', []);
    expect((await api.run(['service', 'list'])).out).toBe('No service registrations found\n');
  });

  it('CL-861: service info, by job; no port when it is 0; in full with -verbose', async () => {
    api.play('GET /v1/service/web', [aRegistration(), aRegistration({ JobID: 'desk', Port: 0, Tags: null })]);
    expect((await api.run(['service', 'info', 'web'])).out).toBe(
      [
        'Job ID  Address        Tags       Node ID   Alloc ID',
        'desk    10.0.0.1       []         1f3a9c2e  0f9e8d7c',
        'shop    10.0.0.1:8080  [blue,v1]  1f3a9c2e  0f9e8d7c',
        '',
      ].join('\n'),
    );
    const { out } = await api.run(['service', 'info', '-verbose', 'web']);
    expect(out).toMatch(/^ID +=.*\nService Name = web\nNamespace +=.*\nJob ID +=.*\nAlloc ID +=.*\nNode ID +=/);
    expect(out).toMatch(/\nDatacenter +=.*\nAddress +=.*\nTags +=.*\n\nID +=/);
    api.play('GET /v1/service/web', []);
    expect((await api.run(['service', 'info', 'web'])).out).toBe('No service registrations found\n');
  });

  it('CL-861: service delete', async () => {
    api.play('DELETE /v1/service/web/_nomad-1', null);
    expect(await api.run(['service', 'delete', 'web', '_nomad-1'])).toMatchObject({
      code: 0,
      out: 'Successfully deleted service registration\n',
    });
  });

  it('CL-443: alloc checks', async () => {
    api.play('GET /v1/allocations', [{ ID: ALLOC, Namespace: 'default' }]);
    api.play(`GET /v1/allocation/${ALLOC}`, { ID: ALLOC, Namespace: 'default' });
    const of = { Check: 'alive', Group: 'shop.web[0]', Service: 'web', Mode: 'healthiness' };
    api.play(`GET /v1/client/allocation/${ALLOC}/checks`, {
      c1: {
        ID: 'c1',
        ...of,
        Task: 'server',
        Status: 'failure',
        StatusCode: 500,
        Timestamp: 1_800_000_000,
        Output: 'no',
      },
      c2: { ID: 'c2', ...of, Status: 'pending', Timestamp: 0, Output: 'nomad: waiting to run' },
    });
    const { out, code } = await api.run(['alloc', 'checks', ALLOC.slice(0, 8)]);
    expect(code).toBe(0);
    expect(out).toBe(`Status of 2 Nomad Service Checks

ID          =  c1
Name        =  alive
Group       =  shop.web[0]
Task        =  server
Service     =  web
Status      =  failure
StatusCode  =  500
Mode        =  healthiness
Timestamp   =  <ts>
Output      =  no

ID         =  c2
Name       =  alive
Group      =  shop.web[0]
Task       =  (group)
Service    =  web
Status     =  pending
Mode       =  healthiness
Timestamp  =  N/A
Output     =  nomad: waiting to run

`);
  });
});
