import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BUSYBOX,
  ContainerMachine,
  eventually,
  type MachineWithEngine,
  machineWithEngine,
} from '../support/container-machine.js';

const started = await machineWithEngine();
const whyNot = typeof started === 'string' ? started : undefined;

let box: ContainerMachine;
/** The addresses of the machine on the interface `extra`, which no other interface has. */
const PUBLIC = '198.51.100.7';
const PUBLIC_IPV6 = '2001:db8::7';

const job = (id: string, network: string, driver = 'raw_exec'): string => `
job "${id}" {
  group "web" {
    network {
      ${network}
    }
    restart {
      attempts = 0
      mode     = "fail"
    }
    task "server" {
      driver = "${driver}"
      config {
        command = "/bin/sh"
        args    = ["-c", "env > $NOMAD_ALLOC_DIR/data/env; exec ${BUSYBOX} httpd -f -p $NOMAD_PORT_web -h $NOMAD_ALLOC_DIR/data"]
      }
      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}`;

const port = (label: string, more: string): string => `port "${label}" {\n ${more}\n }\n`;

describe.skipIf(whyNot !== undefined)(`host networks (${whyNot ?? 'a machine of the tests'})`, () => {
  beforeAll(async () => {
    const own = started as MachineWithEngine;
    own.machine.run(
      'ip link add extra type veth peer name peer && ip link set peer up && ip link set extra up && ' +
        `ip addr add ${PUBLIC}/24 dev extra && ip addr add ${PUBLIC_IPV6}/64 dev extra nodad`,
    );
    const networks = {
      public: { cidr: '198.51.100.0/24', reserved_ports: '18200' },
      six: { cidr: '2001:db8::/32', interface: 'extra' },
    };
    box = await ContainerMachine.start(own, {
      WAYBILL_HOST_NETWORKS: JSON.stringify(networks),
      WAYBILL_NODE_META: 'net=public',
    });
  });
  afterAll(() => box?.stop());

  const portsOf = async (id: string): Promise<[string, string, number][]> => {
    const { AllocatedResources } = await box.inStatus(id, 'running');
    return AllocatedResources.Shared.Ports!.map(({ Label, HostIP, Value }) => [Label, HostIP, Value]);
  };
  const environmentOf = async (id: string): Promise<string[]> => {
    const alloc = await box.inStatus(id, 'running');
    return (await eventually('it has written', () => box.inside(alloc, 'env'))).split('\n');
  };

  it('NW-72, NW-73, NW-123: the node shows them with their addresses', async () => {
    const [{ ID }] = (await box.waybill.api.get('/v1/nodes')) as [{ ID: string }];
    expect(await box.waybill.api.get(`/v1/node/${ID}`)).toMatchObject({
      HostNetworks: {
        public: { Name: 'public', CIDR: '198.51.100.0/24', Interface: '', ReservedPorts: '18200' },
        six: { Name: 'six', CIDR: '2001:db8::/32', Interface: 'extra', ReservedPorts: '' },
      },
      NodeResources: {
        NodeNetworks: expect.arrayContaining([
          expect.objectContaining({
            Device: 'extra',
            Addresses: [
              { Family: 'ipv4', Alias: 'public', Address: PUBLIC, ReservedPorts: '18200', Gateway: '' },
              { Family: 'ipv6', Alias: 'six', Address: PUBLIC_IPV6, ReservedPorts: '', Gateway: '' },
            ],
          }),
        ]),
      },
    });
  });

  it('NW-9, NW-155: one port number on two host networks, of which one is named by the metadata of the node', async () => {
    const network = port('web', 'static = 18201\n host_network = "${meta.net}"') + port('inner', 'static = 18201');
    const id = await box.run(job('two', network));
    expect(await portsOf(id)).toEqual([
      ['web', PUBLIC, 18_201],
      ['inner', box.address, 18_201],
    ]);
    const env = await environmentOf(id);
    expect(env).toContain(`NOMAD_ADDR_web=${PUBLIC}:18201`);
    expect(env).toContain(`NOMAD_ADDR_inner=${box.address}:18201`);
    await box.stopped(id);
  });

  it('NW-10, NW-151: a port on an IPv6 address', async () => {
    const id = await box.run(job('six', port('web', 'static = 18202\n host_network = "six"')));
    expect(await portsOf(id)).toEqual([['web', PUBLIC_IPV6, 18_202]]);
    expect(await environmentOf(id)).toContain(`NOMAD_ADDR_web=[${PUBLIC_IPV6}]:18202`);
    await box.stopped(id);
  });

  it('NW-57: with host networks, a port of the bridge is mapped on its own address only', async () => {
    const network = `mode = "bridge"\n ${port('web', 'static = 18203\n to = 8080\n host_network = "public"')}`;
    const id = await box.run(job('bridged', network, 'exec'));
    await box.inStatus(id, 'running');
    const page = (host: string): string => box.get(box.machine, host, 18_203, '/env');
    expect(await eventually('it answers', () => page(PUBLIC) || undefined)).toContain('NOMAD_PORT_web=8080');
    expect(page(box.address)).toBe('');
    await box.stopped(id);
    await box.nothingIsLeft();
  });

  it('NW-8, NW-9: a reserved port and an unknown host network keep a job waiting, and say why', async () => {
    const reasonOf = async (id: string): Promise<unknown> => {
      const [evaluation] = await box.waybill.api.get<{ ID: string }[]>(`/v1/job/${id}/evaluations`);
      const found = await box.waybill.api.get<{ FailedTGAllocs?: Record<string, object> }>(
        `/v1/evaluation/${evaluation!.ID}`,
      );
      return found.FailedTGAllocs?.['web'];
    };
    const blocked = (id: string): Promise<unknown> => eventually(`${id} is blocked`, () => reasonOf(id));
    await box.run(job('reserved', port('web', 'static = 18200\n host_network = "public"')));
    expect(await blocked('reserved')).toMatchObject({
      DimensionExhausted: { 'network: reserved port collision web=18200': 1 },
    });
    await box.run(job('unknown', port('web', 'host_network = "nowhere"')));
    expect(await blocked('unknown')).toMatchObject({
      ConstraintFiltered: { 'missing host network "nowhere" for port "web"': 1 },
    });
  });
});
