import type { AllocatedPort, Allocation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { aCheck, aService } from '../fixtures/offered-service.js';
import type { DriverNetwork } from '../drivers/driver.js';
import { servicesOf } from './workload-service.js';

const PORT: AllocatedPort = { Label: 'http', Value: 24_000, To: 8_080, HostIP: '10.1.1.1', IgnoreCollision: false };

function offered(given: {
  group?: ReturnType<typeof aService>[];
  task?: ReturnType<typeof aService>[];
  alloc?: Partial<Allocation>;
  network?: DriverNetwork;
}) {
  const task = fixtures.aTask({ Name: 'server', Services: given.task ?? null });
  const group = fixtures.aGroup({ Name: 'web', Tasks: [task], Services: given.group ?? null });
  const job = fixtures.aJob({ TaskGroups: [group] });
  const alloc = fixtures.anAlloc({ Job: job, TaskGroup: 'web', ...given.alloc });
  alloc.AllocatedResources = {
    ...alloc.AllocatedResources,
    Shared: { ...alloc.AllocatedResources.Shared, Ports: [PORT] },
  };
  const networkOf = (name: string) => (name === 'server' ? (given.network ?? null) : null);
  const node = fixtures.aNode({ Attributes: { 'unique.network.ip-address': '10.9.9.9' }, Meta: { rack: 'r1' } });
  const network = alloc.NetworkStatus;
  return { alloc, ...servicesOf({ alloc, job, node, region: 'global', hostEnv: {}, network, networkOf }) };
}

const NETWORK = { InterfaceName: 'eth0', Address: '172.26.64.5', AddressIPv6: 'fd00::5', DNS: null };

describe('what an allocation offers', () => {
  it('AG-140: ids name allocation, workload, service and port; other providers are not ours', () => {
    const { alloc, services } = offered({
      group: [aService({ Name: 'front' }), aService({ Name: 'mesh', Provider: 'consul' })],
      task: [aService({ Name: 'back', PortLabel: '' })],
    });
    expect(services.map(({ task, registration }) => [task, registration.ID])).toEqual([
      ['', `_nomad-task-${alloc.ID}-group-web-front-http`],
      ['server', `_nomad-task-${alloc.ID}-server-back-`],
    ]);
  });

  it('AG-146, API-344: checks that share a name have ids of their own, the first the one it has alone', () => {
    const idsOf = (...names: string[]) =>
      offered({
        group: [aService({ Checks: names.map((Name) => aCheck({ Name })) })],
        alloc: { ID: 'a' },
      }).services[0]!.checks.map(({ id }) => id);
    const [first, second, third] = idsOf('x', 'x', 'x');
    expect(new Set([first, second, third]).size).toBe(3);
    expect(idsOf('x', 'y', 'x')).toEqual([first, expect.any(String), second]);
    expect(idsOf('x')).toEqual([first]);
  });

  it('AG-143: host, allocation or literal address; a number as port; no port', () => {
    const of = (over: Parameters<typeof aService>[0]) => {
      const { registration } = offered({ task: [aService(over)], alloc: { NetworkStatus: NETWORK } }).services[0]!;
      return [registration.Address, registration.Port];
    };
    expect(of({})).toEqual(['10.1.1.1', 24_000]);
    expect(of({ AddressMode: 'host' })).toEqual(['10.1.1.1', 24_000]);
    expect(of({ AddressMode: 'alloc' })).toEqual(['172.26.64.5', 8_080]);
    expect(of({ AddressMode: 'alloc_ipv6' })).toEqual(['fd00::5', 8_080]);
    expect(of({ Address: 'web.example.com' })).toEqual(['web.example.com', 24_000]);
    expect(of({ PortLabel: '9090' })).toEqual(['10.9.9.9', 9_090]);
    expect(of({ PortLabel: '' })).toEqual(['10.9.9.9', 0]);
  });

  it.each([
    ['auto', false, ['10.1.1.1', 24_000]],
    ['auto', true, ['172.17.0.9', 81]],
    ['host', true, ['10.1.1.1', 24_000]],
    ['alloc', true, ['172.26.64.5', 8_080]],
    ['driver', false, ['172.17.0.9', 81]],
  ] as const)(
    'AG-143: mode %s where the driver has a network that it advertises: %s',
    (AddressMode, autoAdvertise, at) => {
      const network = { ip: '172.17.0.9', portMap: { http: 81 }, autoAdvertise };
      const given = { alloc: { NetworkStatus: NETWORK }, network };
      const { registration } = offered({ ...given, task: [aService({ AddressMode })] }).services[0]!;
      expect([registration.Address, registration.Port]).toEqual(at);
      const unmapped = offered({ ...given, task: [aService({ AddressMode: 'driver', PortLabel: '9000' })] });
      expect(unmapped.services[0]!.registration.Port).toBe(9_000);
    },
  );

  it("NW-12, AG-143: a port of the task's own network is offered with its address, to this task only", () => {
    const Networks = [
      fixtures.aNetwork({ IP: '10.3.3.3', ReservedPorts: [{ ...PORT, Label: 'db', Value: 5_432, HostNetwork: '' }] }),
    ];
    const { AllocatedResources } = fixtures.anAlloc();
    const given = Object.values(AllocatedResources.Tasks)[0]!;
    const alloc = { AllocatedResources: { ...AllocatedResources, Tasks: { server: { ...given, Networks } } } };
    const db = { PortLabel: 'db', Checks: [aCheck({})] };
    const { services, refused } = offered({ task: [aService(db)], group: [aService(db)], alloc });
    expect(services.map(({ registration, checks }) => [registration, checks[0]])).toMatchObject([
      [
        { Address: '10.3.3.3', Port: 5_432 },
        { address: '10.3.3.3', port: 5_432 },
      ],
    ]);
    expect(refused).toEqual([{ task: '', service: 'web', reason: 'invalid port "db": port label not found' }]);
  });

  const DRIVER = { ip: '172.17.0.9', portMap: { http: 81 }, autoAdvertise: false };
  it.each([
    [{ PortLabel: 'db' }, 'invalid port "db": port label not found'],
    [{ PortLabel: 'db', Address: 'web.example.com' }, 'invalid port "db": port label not found'],
    [{ PortLabel: '0' }, 'invalid port: "0": port must be >0'],
    [{ AddressMode: 'driver' }, 'cannot use address_mode="driver": no driver network exists'],
    [{ AddressMode: 'alloc' }, 'cannot use address_mode="alloc": no allocation network status reported'],
    [{ AddressMode: 'alloc_ipv6' }, 'cannot use address_mode="alloc_ipv6": no allocation network status reported'],
    [
      { Checks: [aCheck({ AddressMode: 'alloc' })] },
      'check "alive": cannot use address_mode="alloc": no allocation network status reported',
    ],
  ])('NW-112: a service without an address is refused: %j', (over, reason) => {
    expect(offered({ task: [aService(over)] })).toMatchObject({
      services: [],
      refused: [{ task: 'server', service: 'web', reason }],
    });
  });

  it.each([
    [
      { AddressMode: 'driver', PortLabel: 'db' },
      `invalid port label "db": port labels in driver address_mode must be numeric or in the driver's port map`,
    ],
    [{ AddressMode: 'driver', PortLabel: '0' }, 'invalid port: "0": port must be >0'],
    [{ AddressMode: 'alloc', PortLabel: 'db' }, 'invalid port "db": port label not found or is not numeric'],
  ])('NW-112: and so is one whose port is unknown where there are networks: %j', (over, reason) => {
    const found = offered({ task: [aService(over)], alloc: { NetworkStatus: NETWORK }, network: DRIVER });
    expect(found).toMatchObject({ services: [], refused: [{ reason }] });
  });

  it("AG-143, NW-111: without a network of its own, the driver's address is that of the allocation", () => {
    const of = (PortLabel: string) => {
      const service = aService({ AddressMode: 'driver', PortLabel });
      const { registration } = offered({ task: [service], alloc: { NetworkStatus: NETWORK } }).services[0]!;
      return [registration.Address, registration.Port];
    };
    expect(of('http')).toEqual(['172.26.64.5', 8_080]);
    expect(of('9090')).toEqual(['172.26.64.5', 9_090]);
    expect(of('')).toEqual(['172.26.64.5', 0]);
  });

  it('AG-143: names and tags are interpolated like the environment', () => {
    const service = aService({ Tags: ['rack-${meta.rack}', 'task-${NOMAD_TASK_NAME}', '${NOMAD_GROUP_NAME}'] });
    expect(offered({ task: [service] }).services[0]!.registration.Tags).toEqual(['rack-r1', 'task-server', 'web']);
    expect(offered({ group: [service] }).services[0]!.registration.Tags).toEqual([
      'rack-r1',
      'task-${NOMAD_TASK_NAME}',
      'web',
    ]);
  });

  it('a canary has its own tags, if it has any, until it is promoted', () => {
    const tags = (Canary: boolean, CanaryTags: string[] | null) => {
      const DeploymentStatus = { Healthy: null, Timestamp: null, Canary, ModifyIndex: 0 };
      const task = [aService({ Tags: ['live'], CanaryTags })];
      return offered({ task, alloc: { DeploymentStatus } }).services[0]!.registration.Tags;
    };
    expect(tags(true, ['canary'])).toEqual(['canary']);
    expect(tags(false, ['canary'])).toEqual(['live']);
    expect(tags(true, null)).toEqual(['live']);
  });

  it('AG-146: a check keeps its id, has the port of its service or its own, and names what it belongs to', () => {
    const checks = [aCheck(), aCheck({ Name: 'admin', PortLabel: '9999' })];
    const first = offered({ task: [aService({ Checks: checks })] });
    const [alive, admin] = first.services[0]!.checks;
    expect(alive).toMatchObject({ service: 'web', task: 'server', group: first.alloc.Name, port: 24_000 });
    expect(admin).toMatchObject({ address: '10.9.9.9', port: 9_999 });
    expect(alive!.id).not.toBe(admin!.id);
    const again = offered({ task: [aService({ Checks: checks, Tags: ['new'] })], alloc: { ID: first.alloc.ID } });
    expect(again.services[0]!.checks[0]!.id).toBe(alive!.id);
  });
});
