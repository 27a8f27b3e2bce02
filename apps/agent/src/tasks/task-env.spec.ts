import { type Allocation, type AllocNetworkStatus, type Job, type Node, type Task } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { TaskEnv } from './task-env.js';

function envOf(given: {
  task?: Partial<Task>;
  alloc?: Partial<Allocation>;
  job?: Partial<Job>;
  node?: Partial<Node>;
  groupMeta?: Record<string, string>;
  hostEnv?: Record<string, string>;
  network?: AllocNetworkStatus;
}) {
  const task = fixtures.aTask({ Name: 'web', ...given.task });
  const group = fixtures.aGroup({ Tasks: [task], Meta: given.groupMeta ?? null });
  const job = fixtures.aJob({ ID: 'shop', Name: 'Shop', TaskGroups: [group], ...given.job });
  const alloc = fixtures.anAlloc({ Job: job, JobID: job.ID, Name: 'shop.web[3]', ...given.alloc });
  return new TaskEnv({
    alloc,
    job,
    task,
    node: fixtures.aNode(given.node),
    region: 'global',
    paths: {
      allocDir: '/a/alloc',
      logsDir: '/a/alloc/logs',
      taskDir: '/a/web',
      localDir: '/a/web/local',
      secretsDir: '/a/web/secrets',
      privateDir: '/a/web/private',
    },
    hostEnv: given.hostEnv ?? {},
    network: given.network,
  });
}

describe('environment of a task', () => {
  it('AG-225: what is set for every task', () => {
    const { variables } = envOf({ alloc: { ID: 'abcdef01-2345-6789-abcd-ef0123456789' } });
    expect(variables).toMatchObject({
      NOMAD_ALLOC_DIR: '/a/alloc',
      NOMAD_TASK_DIR: '/a/web/local',
      NOMAD_SECRETS_DIR: '/a/web/secrets',
      NOMAD_MEMORY_LIMIT: '64',
      NOMAD_CPU_LIMIT: '100',
      NOMAD_ALLOC_ID: 'abcdef01-2345-6789-abcd-ef0123456789',
      NOMAD_SHORT_ALLOC_ID: 'abcdef01',
      NOMAD_ALLOC_NAME: 'shop.web[3]',
      NOMAD_ALLOC_INDEX: '3',
      NOMAD_GROUP_NAME: 'web',
      NOMAD_TASK_NAME: 'web',
      NOMAD_JOB_ID: 'shop',
      NOMAD_JOB_NAME: 'Shop',
      NOMAD_DC: 'dc1',
      NOMAD_NAMESPACE: 'default',
      NOMAD_REGION: 'global',
    });
    for (const absent of ['NOMAD_JOB_PARENT_ID', 'NOMAD_MEMORY_MAX_LIMIT', 'NOMAD_CPU_CORES'])
      expect(variables).not.toHaveProperty(absent);
    expect(envOf({ alloc: { Name: 'shop.web[0]' } }).variables['NOMAD_ALLOC_INDEX']).toBe('0');
    expect(envOf({ job: { ParentID: 'parent' } }).variables['NOMAD_JOB_PARENT_ID']).toBe('parent');
  });

  it('AG-234: meta is interpolated: with the machine, with ports, with other meta; env sees it so', () => {
    const { variables } = envOf({
      job: { Meta: { system: '${attr.kernel.name}', plain: 'p' } },
      groupMeta: { task: '${NOMAD_TASK_NAME}', 'from-plain': '<${NOMAD_META_plain}>', unknown: '${nobody.knows}' },
      task: { Env: { SEEN: '${NOMAD_META_task}' } },
      node: { Attributes: { 'kernel.name': 'linux' } },
    });
    expect(variables).toMatchObject({
      NOMAD_META_system: 'linux',
      NOMAD_META_SYSTEM: 'linux',
      NOMAD_META_task: 'web',
      NOMAD_META_from_plain: '<p>',
      NOMAD_META_unknown: '${nobody.knows}',
      SEEN: 'web',
    });
  });

  it('AG-226, AG-230: merged meta twice, the task wins, with clean names', () => {
    const { variables } = envOf({
      job: { Meta: { owner: 'job', 'my-key': 'x' } },
      groupMeta: { owner: 'group', tier: 'group' },
      task: { Meta: { owner: 'task' } },
    });
    expect(variables).toMatchObject({
      NOMAD_META_owner: 'task',
      NOMAD_META_OWNER: 'task',
      NOMAD_META_tier: 'group',
      NOMAD_META_my_key: 'x',
      NOMAD_META_MY_KEY: 'x',
    });
  });

  it('AG-227, AG-230: ports', () => {
    const port = (Label: string, Value: number, To: number, HostIP: string) => ({
      Label,
      Value,
      To,
      HostIP,
      IgnoreCollision: false,
    });
    const shared = {
      Networks: null,
      DiskMB: 1,
      Ports: [port('http', 21_000, 8080, '10.0.0.1'), port('a-b', 22_000, 0, 'fe80::1')],
    };
    const base = fixtures.anAlloc().AllocatedResources;
    const { variables } = envOf({ alloc: { AllocatedResources: { ...base, Shared: shared } } });
    expect(variables).toMatchObject({
      NOMAD_IP_http: '10.0.0.1',
      NOMAD_HOST_IP_http: '10.0.0.1',
      NOMAD_PORT_http: '8080',
      NOMAD_ALLOC_PORT_http: '8080',
      NOMAD_HOST_PORT_http: '21000',
      NOMAD_ADDR_http: '10.0.0.1:21000',
      NOMAD_HOST_ADDR_http: '10.0.0.1:21000',
      NOMAD_PORT_a_b: '22000',
      NOMAD_ADDR_a_b: '[fe80::1]:22000',
      'NOMAD_HOST_IP_a-b': 'fe80::1',
    });
  });

  it.each([
    [0, '172.26.64.2', '24000', '172.26.64.2:24000'],
    [24_000, '172.26.64.2', '24000', '172.26.64.2:24000'],
    [8_080, '172.26.64.2', '8080', '172.26.64.2:8080'],
    [8_080, 'fd00::2', '8080', '[fd00::2]:8080'],
  ])('AG-228, NW-101: in a namespace, a port that leads to %i at %s', (To, Address, inside, reached) => {
    const base = fixtures.anAlloc().AllocatedResources;
    const Ports = [{ Label: 'http', Value: 24_000, To, HostIP: '10.1.1.1', IgnoreCollision: false }];
    const AllocatedResources = { ...base, Shared: { ...base.Shared, Ports } };
    const network = { InterfaceName: 'eth0', Address, AddressIPv6: '', DNS: null };
    const { variables } = envOf({ alloc: { AllocatedResources }, network });
    expect(variables).toMatchObject({
      NOMAD_ALLOC_INTERFACE_http: 'eth0',
      NOMAD_ALLOC_IP_http: Address,
      NOMAD_ALLOC_ADDR_http: reached,
      NOMAD_ALLOC_PORT_http: inside,
      NOMAD_PORT_http: inside,
      NOMAD_HOST_PORT_http: '24000',
      NOMAD_ADDR_http: '10.1.1.1:24000',
    });
    const without = Object.keys(envOf({ alloc: { AllocatedResources } }).variables);
    expect(without.filter((name) => /^NOMAD_ALLOC_(IP|ADDR|INTERFACE)_/.test(name))).toEqual([]);
  });

  it('AG-227, AG-229: networks of tasks, its own by label, those of others by task and label', () => {
    const port = (Label: string, Value: number) => ({ Label, Value, To: 0, HostNetwork: '', IgnoreCollision: false });
    const network = (IP: string, label: string, value: number) =>
      fixtures.aNetwork({ IP, ReservedPorts: [port(label, value)], DynamicPorts: [port('dyn', value + 1)] });
    const base = fixtures.anAlloc().AllocatedResources;
    const given = Object.values(base.Tasks)[0]!;
    const Tasks = {
      web: { ...given, Networks: [network('10.0.0.1', 'http', 8000)] },
      'my-db': { ...given, Networks: [network('fe80::1', 'sql', 5432)] },
    };
    const { variables } = envOf({ alloc: { AllocatedResources: { ...base, Tasks } } });
    expect(variables).toMatchObject({
      NOMAD_ADDR_http: '10.0.0.1:8000',
      NOMAD_PORT_dyn: '8001',
      NOMAD_IPv4_http: '10.0.0.1',
      NOMAD_ADDR_my_db_sql: '[fe80::1]:5432',
      NOMAD_IP_my_db_sql: 'fe80::1',
      NOMAD_PORT_my_db_dyn: '5433',
    });
    expect(Object.keys(variables)).not.toContain('NOMAD_IPv6_my_db_sql');
  });

  it('AG-232: the agent’s own variables win over the host’s, the task’s over both', () => {
    const hostEnv = { PATH: '/bin', NOMAD_TASK_NAME: 'host', LANG: 'C' };
    const { variables } = envOf({ hostEnv, task: { Env: { LANG: 'task', NOMAD_DC: 'mine' } } });
    expect(variables).toMatchObject({ PATH: '/bin', NOMAD_TASK_NAME: 'web', LANG: 'task', NOMAD_DC: 'mine' });
  });

  it('AG-233: secrets of the host stay there, Waybill’s among them', () => {
    const hostEnv = {
      NOMAD_TOKEN: 's',
      AWS_SECRET_ACCESS_KEY: 's',
      WAYBILL_DATABASE_URL: 'postgres://u:s@h/d',
      HOME: '/root',
    };
    const { variables } = envOf({ hostEnv });
    expect(Object.values(variables)).not.toContain('s');
    expect(Object.keys(variables).filter((name) => name.startsWith('WAYBILL_'))).toEqual([]);
    expect(variables['HOME']).toBe('/root');
  });

  it('AG-234: replaces what it knows and leaves the rest', () => {
    const env = envOf({
      node: {
        ID: 'node-1',
        Name: 'n1',
        NodeClass: 'big',
        Attributes: { 'kernel.name': 'linux', a: '1' },
        Meta: { rack: 'r1' },
      },
      task: { Env: { GREETING: 'hi from ${node.unique.name}' } },
    });
    const cases: Record<string, string> = {
      '${node.unique.id} ${node.class} ${node.datacenter} ${node.region} ${node.pool}': 'node-1 big dc1 global default',
      '${attr.kernel.name}/${meta.rack}': 'linux/r1',
      '${NOMAD_TASK_NAME}-${NOMAD_ALLOC_INDEX}': 'web-3',
      '${env["NOMAD_JOB_ID"]} ${GREETING}': 'shop hi from n1',
      '${unknown} ${attr.none} $plain ${': '${unknown} ${attr.none} $plain ${',
    };
    for (const [text, expected] of Object.entries(cases)) expect(env.interpolate(text)).toBe(expected);
    expect(env.interpolateAll({ args: ['${NOMAD_DC}', 1, { deep: '${meta.rack}' }] })).toEqual({
      args: ['dc1', 1, { deep: 'r1' }],
    });
  });
});
