import { describe, expect, it } from 'vitest';
import { DEFAULT_CAPABILITIES } from '../capabilities.js';
import type { TaskConfig } from '../driver.js';
import {
  checkPolicy,
  containerName,
  type ContainerOrder,
  containerOptions,
  type DockerPolicy,
  isInGroupNetwork,
  relativeSources,
} from './container-options.js';
import { dockerConfig } from '../task-config.js';

const STRICT: DockerPolicy = { volumes: false, privileged: false, allowedCapabilities: DEFAULT_CAPABILITIES };
const OPEN: DockerPolicy = { ...STRICT, volumes: true, privileged: true };

const task = (over: Partial<TaskConfig> = {}): TaskConfig => ({
  taskId: 'a1/web/x',
  allocId: 'a1',
  task: 'web',
  user: '',
  config: {},
  env: { A: '1' },
  ports: [{ label: 'http', hostIp: '192.0.2.7', hostPort: 23_456, to: 80 }],
  paths: {
    allocDir: '/d/alloc',
    logsDir: '/d/alloc/logs',
    taskDir: '/d/web',
    localDir: '/d/web/local',
    secretsDir: '/d/web/secrets',
    privateDir: '/d/web/private',
  },
  logs: { MaxFiles: 10, MaxFileSizeMB: 10, Disabled: false },
  ...over,
});

const made = (
  config: Record<string, unknown>,
  over: Partial<TaskConfig> = {},
  policy = STRICT,
  found = new Map<string, string>(),
) =>
  containerOptions(
    { task: task(over), config: dockerConfig({ image: 'i', ...config }), policy, agent: 'me', mhzPerCore: 2_000 },
    found,
  );

const checked =
  (config: Record<string, unknown>, policy = STRICT) =>
  () =>
    checkPolicy(dockerConfig({ image: 'i', ...config }), policy);

describe('the configuration of a docker task', () => {
  it.each([
    [{}, 'image is required'],
    [{ image: 'i', comand: 'x' }, 'unknown key "comand" in the configuration of docker'],
    [{ image: 'i', args: 'x' }, 'args: '],
    [{ image: 'i', logging: [{ typo: 'x' }] }, 'unknown key "logging.typo"'],
    [{ image: 'i', mounts: [{ source: 'x' }] }, 'mounts.0.target'],
  ])('AG-281: %j is refused: %s', (config, text) => {
    expect(() => dockerConfig(config)).toThrow(text);
  });

  it('AG-281: blocks come as lists of one, and maps as lists of many', () => {
    const config = dockerConfig({
      image: 'i',
      auth: [{ username: 'u', password: 'p' }],
      labels: [{ a: 'x' }, { b: 2 }],
      logging: [{ type: 'local', config: [{ 'max-size': '1m' }] }],
    });
    expect(config.auth).toMatchObject({ username: 'u', password: 'p' });
    expect(config.labels).toEqual({ a: 'x', b: '2' });
    expect(config.logging).toEqual({ type: 'local', config: { 'max-size': '1m' } });
  });
});

describe('what the engine is asked for', () => {
  it('AG-282: tasks of an allocation have containers of different names, also where the engine does not take theirs', () => {
    const tasks = ['a b', 'a_b', 'a:b', '-a', '.a', 'é'];
    const names = tasks.map((task) => containerName({ task, allocId: 'x' }));
    expect(new Set(names).size).toBe(tasks.length);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
    expect(containerName({ task: 'web-1.x', allocId: 'x' })).toBe('web-1.x-x');
  });

  it('AG-230: a variable of the container is one variable, under its own name', () => {
    expect(() => made({}, { env: { 'LD_PRELOAD=/x': 'x' } })).toThrow('is no name');
  });

  it('AG-282: name, labels and directories', () => {
    const options = made({ labels: { mine: 'x' } });
    expect(options.name).toBe('web-a1');
    expect(options.Labels).toMatchObject({ mine: 'x', 'com.hashicorp.nomad.alloc_id': 'a1' });
    expect(options.HostConfig?.Mounts?.map(({ Source, Target }) => `${Source}:${Target}`)).toEqual([
      '/d/alloc:/alloc',
      '/d/web/local:/local',
      '/d/web/secrets:/secrets',
    ]);
    expect(made({ labels: { 'com.hashicorp.nomad.alloc_id': 'another' } }).Labels).toMatchObject({
      'com.hashicorp.nomad.alloc_id': 'a1',
    });
  });

  it.each([
    [{ command: 'c', args: ['1'] }, { Cmd: ['c', '1'] }],
    [{ args: ['1'] }, { Cmd: ['1'] }],
    [{ entrypoint: ['/e', '-x'] }, { Entrypoint: ['/e', '-x'] }],
    [{ entrypoint: '/e' }, { Entrypoint: ['/e'] }],
    [
      { work_dir: '/w', hostname: 'h', mac_address: '02:42:ac:11:00:02' },
      { WorkingDir: '/w', Hostname: 'h' },
    ],
    [
      { interactive: true, tty: true },
      { OpenStdin: true, Tty: true },
    ],
    [{ healthchecks: { disable: true } }, { Healthcheck: { Test: ['NONE'] } }],
  ])('AG-281: %j', (config, options) => {
    expect(made(config)).toMatchObject(options);
  });

  it.each([
    [{ network_mode: 'host' }, { NetworkMode: 'host' }],
    [
      { dns_servers: ['1.1.1.1'], dns_search_domains: ['d'], dns_options: ['o'] },
      { Dns: ['1.1.1.1'], DnsSearch: ['d'] },
    ],
    [{ extra_hosts: ['a:1.2.3.4'] }, { ExtraHosts: ['a:1.2.3.4'] }],
    [
      { ulimit: { nofile: '2048:4096', nproc: '9' } },
      {
        Ulimits: [
          { Name: 'nofile', Soft: 2048, Hard: 4096 },
          { Name: 'nproc', Soft: 9, Hard: 9 },
        ],
      },
    ],
    [
      { devices: [{ host_path: '/dev/x' }] },
      { Devices: [{ PathOnHost: '/dev/x', PathInContainer: '/dev/x', CgroupPermissions: 'rwm' }] },
    ],
    [
      { shm_size: 64, pids_limit: 5, readonly_rootfs: true, init: true },
      { ShmSize: 64, PidsLimit: 5, ReadonlyRootfs: true, Init: true },
    ],
    [{ logging: { type: 'syslog', config: { a: 'b' } } }, { LogConfig: { Type: 'syslog', Config: { a: 'b' } } }],
    [
      { ipc_mode: 'host', pid_mode: 'host', uts_mode: 'host', userns_mode: 'host' },
      { IpcMode: 'host', PidMode: 'host', UTSMode: 'host', UsernsMode: 'host' },
    ],
    [
      { sysctl: { 'net.core.somaxconn': 16 }, storage_opt: { size: '1G' } },
      { Sysctls: { 'net.core.somaxconn': '16' }, StorageOpt: { size: '1G' } },
    ],
    [
      { cap_drop: ['all'], cap_add: ['CAP_CHOWN'] },
      { CapDrop: ['ALL'], CapAdd: ['CHOWN'] },
    ],
    [
      { security_opt: ['s'], group_add: ['g'], runtime: 'r', oom_score_adj: 3 },
      { SecurityOpt: ['s'], GroupAdd: ['g'], Runtime: 'r', OomScoreAdj: 3 },
    ],
  ])('AG-281: %j of the machine', (config, host) => {
    expect(made(config).HostConfig).toMatchObject(host);
  });

  it.each([
    [
      { cpuShares: 500, memoryMB: 10, memoryMaxMB: 0 },
      {},
      { CpuShares: 500, Memory: 10_485_760, MemorySwap: 10_485_760 },
    ],
    [{ cpuShares: 500, memoryMB: 10, memoryMaxMB: 20 }, {}, { Memory: 20_971_520, MemoryReservation: 10_485_760 }],
    [
      { cpuShares: 500, memoryMB: 10, memoryMaxMB: 0 },
      { memory_hard_limit: 30 },
      { Memory: 31_457_280, MemoryReservation: 10_485_760 },
    ],
  ])('what it may use: %j %j', (resources, config, host) => {
    expect(made(config, { resources }).HostConfig).toMatchObject(host);
  });

  const MHZ = { cpuShares: 500, memoryMB: 10, memoryMaxMB: 0 };
  it.each([
    [{ cpu_hard_limit: true }, MHZ, { CpuShares: 500, CpuPeriod: 100_000, CpuQuota: 25_000 }],
    [{ cpu_hard_limit: true, cpu_cfs_period: 10_000 }, MHZ, { CpuPeriod: 10_000, CpuQuota: 2_500 }],
    [{ cpu_hard_limit: true, cpu_cfs_period: 1_000 }, MHZ, { CpuPeriod: 1_000, CpuQuota: 1_000 }], // the kernel's least
    [{ cpuset_cpus: '0-1,3' }, MHZ, { CpusetCpus: '0-1,3', CpuShares: 500 }],
    [{ cgroupns: 'private' }, MHZ, { CgroupnsMode: 'private' }],
  ])('AG-281: processors: %j', (config, resources, host) =>
    expect(made(config, { resources }).HostConfig).toMatchObject(host),
  );

  it('AG-281: no hard limit without a wish for one, or without known MHz', () => {
    for (const { HostConfig } of [made({ cpu_cfs_period: 10_000 }, { resources: MHZ }), made({ cpu_hard_limit: true })])
      expect([HostConfig?.CpuQuota, HostConfig?.CpuPeriod, HostConfig?.CpusetCpus]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
  });

  it.each([
    [{ cpu_cfs_period: 1_000_001 }, 'invalid value for cpu_cfs_period'],
    [{ cpu_cfs_period: -1 }, 'invalid value for cpu_cfs_period'],
    [{ cpuset_cpus: '0;1' }, 'cpuset_cpus: cores such as 0-3,5'],
    [{ cgroupns: 'hosts' }, 'cgroupns: '],
  ])('AG-281: %j is refused: %s', (config, text) => expect(() => made(config)).toThrow(text));

  it('AG-281: addresses and names in a network of the engine, which has to be named', () => {
    const config = { network_mode: 'shop', ipv4_address: '10.9.0.5', ipv6_address: 'fd00::5', network_aliases: ['db'] };
    expect(made(config).NetworkingConfig?.EndpointsConfig).toEqual({
      shop: { Aliases: ['db'], IPAMConfig: { IPv4Address: '10.9.0.5', IPv6Address: 'fd00::5' } },
    });
    expect(made({ ...config, ipv6_address: '', network_aliases: [] }).NetworkingConfig?.EndpointsConfig).toEqual({
      shop: { IPAMConfig: { IPv4Address: '10.9.0.5' } },
    });
    expect(made({ network_mode: 'shop' }).NetworkingConfig).toBeUndefined();
    expect(made({ ...config, network_mode: '' }).NetworkingConfig).toBeUndefined();
  });

  it('AG-281, AG-285: volumes of a volume driver are named, and need the right to volumes', () => {
    const config = { volume_driver: 'pxd', volumes: ['data:/var/data:ro'] };
    expect(made(config).HostConfig?.Mounts?.at(-1)).toMatchObject({
      Type: 'volume',
      Source: 'data',
      Target: '/var/data',
      ReadOnly: true,
      VolumeOptions: { DriverConfig: { Name: 'pxd' } },
    });
    expect(relativeSources(dockerConfig({ image: 'i', ...config }))).toEqual([]);
    expect(checked(config)).toThrow('volumes are not enabled on this machine; cannot use the volume driver pxd');
    expect(checked(config, OPEN)).not.toThrow();
  });

  it('AG-281, NW-104: ports by the labels of the group, to the port inside', () => {
    const binding = [{ HostIp: '192.0.2.7', HostPort: '23456' }];
    expect(made({ ports: ['http'] })).toMatchObject({
      ExposedPorts: { '80/tcp': {}, '80/udp': {} },
      HostConfig: { PortBindings: { '80/tcp': binding, '80/udp': binding } },
    });
    expect(() => made({ ports: ['db'] })).toThrow('Port "db" not found, check network block');
    expect(() => made({ port_map: [{ http: 8080 }] })).toThrow(
      "'port_map' cannot map group network ports, use 'ports' instead",
    );
    expect(() => made({ port_map: [{ http: 8080 }] }, { ports: [] })).toThrow(
      'Trying to map ports but no network interface is available',
    );
  });

  it("NW-104, AG-227: all ports of the task's own network, mapped by the older map, which the task sees", () => {
    const own = (label: string, hostPort: number) => ({ label, hostIp: '192.0.2.8', hostPort, to: 99 });
    const ownPorts = [own('db-1', 23_001), own('admin', 23_002)];
    const env = { NOMAD_PORT_db_1: '23001', NOMAD_PORT_admin: '23002' };
    const options = made({ port_map: [{ 'db-1': 5432 }] }, { ownPorts, env });
    const binding = (HostPort: string) => [{ HostIp: '192.0.2.8', HostPort }];
    expect(options.HostConfig?.PortBindings).toEqual({
      '5432/tcp': binding('23001'),
      '5432/udp': binding('23001'),
      '23002/tcp': binding('23002'),
      '23002/udp': binding('23002'),
    });
    expect(options.Env).toEqual(['NOMAD_PORT_db_1=5432', 'NOMAD_PORT_admin=23002']);
    const both = made({ ports: ['http', 'admin'] }, { ownPorts }).HostConfig?.PortBindings;
    expect(Object.keys(both!)).toEqual(['80/tcp', '80/udp', '23001/tcp', '23001/udp', '23002/tcp', '23002/udp']);
  });

  const DNS = { servers: ['9.9.9.9'], searches: ['s'], options: ['o'] };
  const network = { namespace: '/run/docker/netns/1', hostname: '', status: null, sandbox: { container: 'c1' } };

  it('AG-296, NW-93: the mode of the group where the task has no own, and the DNS of the group before its own', () => {
    const host = made({}, { dns: DNS, networkMode: 'none' }).HostConfig;
    expect(host).toMatchObject({ NetworkMode: 'none', Dns: ['9.9.9.9'], DnsSearch: ['s'], DnsOptions: ['o'] });
    const config = { network_mode: 'host', dns_servers: ['1.1.1.1'], dns_search_domains: ['d'] };
    const own = made(config, { dns: DNS, networkMode: 'none' }).HostConfig;
    expect(own).toMatchObject({ NetworkMode: 'host', Dns: ['9.9.9.9'], DnsSearch: ['s'] });
  });

  it('NW-35, NW-104: in the namespace of its group it joins a container, without what the engine refuses there', () => {
    const config = dockerConfig({ image: 'i', ports: ['http'], dns_servers: ['1.1.1.1'], extra_hosts: ['a:1.2.3.4'] });
    const files = [{ source: '/d/hosts', destination: '/etc/hosts', readOnly: false, propagation: '' }];
    const order: ContainerOrder = {
      task: task({ network, dns: DNS }),
      config,
      policy: OPEN,
      agent: 'me',
      mhzPerCore: 2_000,
    };
    const { ExposedPorts, HostConfig } = containerOptions({ ...order, joins: 'c1', files }, new Map());
    expect([ExposedPorts, HostConfig?.PortBindings, HostConfig?.NetworkMode]).toEqual([{}, {}, 'container:c1']);
    expect(Object.keys(HostConfig!)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^Dns|ExtraHosts/)]));
    const sources = (mounts = HostConfig?.Mounts) =>
      mounts?.filter(({ Target }) => Target === '/etc/hosts').map(({ Source }) => Source);
    expect(sources()).toEqual(['/d/hosts']);
    const byJob = dockerConfig({ image: 'i', volumes: ['/own:/etc/hosts'] });
    const mine = containerOptions({ ...order, config: byJob, joins: 'c1', files }, new Map());
    expect(sources(mine.HostConfig?.Mounts)).toEqual(['/own']);
  });

  it('NW-25, NW-104: its own network_mode wins over the namespace of its group, and publishes nothing', () => {
    const config = dockerConfig({ image: 'i', network_mode: 'bridge' });
    const [joins, stays] = [{}, { network_mode: 'host' }].map((own) =>
      isInGroupNetwork(task({ network }), dockerConfig({ image: 'i', ...own })),
    );
    expect([joins, stays, isInGroupNetwork(task(), config)]).toEqual([true, false, false]);
    const { HostConfig } = made({ network_mode: 'bridge', ports: ['http'] }, { network });
    expect([HostConfig?.NetworkMode, HostConfig?.PortBindings]).toEqual(['bridge', {}]);
  });

  it.each([
    ['bidirectional', 'rshared'],
    ['host-to-task', 'rslave'],
    ['private', 'rprivate'],
    ['', 'rprivate'],
  ])('CW-5: a mount that is %s is %s', (propagation, Propagation) => {
    const mounts = [{ source: '/s', destination: '/t', readOnly: true, propagation }];
    const mount = { Type: 'bind', Source: '/s', Target: '/t', ReadOnly: true, BindOptions: { Propagation } };
    expect(made({}, { mounts }).HostConfig?.Mounts?.at(-1)).toEqual(mount);
  });

  it('AG-281: volumes and mounts of the job', () => {
    const found = new Map([['local/x', '/d/web/local/x']]);
    const config = {
      volumes: ['local/x:/x:ro', '/host:/h'],
      mount: [{ type: 'tmpfs', target: '/t', tmpfs_options: [{ size: 5, mode: 0o700 }] }],
      mounts: [{ target: '/v', source: 'named', volume_options: [{ no_copy: true, labels: [{ a: 'b' }] }] }],
    };
    expect(made(config, {}, OPEN, found).HostConfig?.Mounts?.slice(3)).toMatchObject([
      { Type: 'bind', Source: '/d/web/local/x', Target: '/x', ReadOnly: true },
      { Type: 'bind', Source: '/host', Target: '/h', ReadOnly: false },
      { Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 5, Mode: 0o700 } },
      { Type: 'volume', Target: '/v', Source: 'named', VolumeOptions: { NoCopy: true, Labels: { a: 'b' } } },
    ]);
  });
});

describe('what the agent allows', () => {
  /** Returns the block of a volume that its driver makes, as in job files. */
  const volume = (name: string, options: Record<string, string>) => ({
    target: '/v',
    source: 'v',
    volume_options: [{ driver_config: [{ name, options: [options] }] }],
  });

  it('AG-285: a volume of something else than the machine’s files is no host path', () => {
    const nfs = volume('local', { type: 'nfs', o: 'addr=10.0.0.1,rw', device: ':/exports' });
    const memory = volume('local', { type: 'tmpfs', device: 'tmpfs' });
    const others = volume('pxd', { device: '/dev/x' });
    expect(checked({ mounts: [nfs, memory, others] })).not.toThrow();
  });

  it.each([
    [{ privileged: true }, 'privileged containers are not allowed'],
    [{ volumes: ['/etc:/e'] }, 'volumes are not enabled on this machine; cannot mount host paths: /etc'],
    [{ mounts: [{ type: 'bind', source: '/etc', target: '/e' }] }, 'cannot mount host paths: /etc'],
    [{ mounts: [volume('', { type: 'none', o: 'rw,bind', device: 'etc' })] }, 'cannot mount host paths: etc'],
    [{ mount: [volume('local', { type: 'ext4', device: '/dev/sda' })] }, 'cannot mount host paths: /dev/sda'],
    [{ cap_add: ['SYS_ADMIN'] }, 'driver does not allow the following capabilities: sys_admin'],
  ])('AG-285: %j is refused unless it does', (config, text) => {
    expect(checked(config)).toThrow(text);
    const open = { ...OPEN, allowedCapabilities: [...DEFAULT_CAPABILITIES, 'sys_admin'] };
    expect(checked(config, open)).not.toThrow();
  });

  it.each([
    [{ volumes: ['nowhere'] }, 'invalid volume "nowhere"'],
    [{ mounts: [{ type: 'bind', target: '/e' }] }, 'a bind mount needs a source'],
    [{ ulimit: { nofile: 'many' } }, 'malformed ulimit nofile'],
  ])('%j makes no sense', (config, text) => {
    expect(checked(config, OPEN)).toThrow(text);
  });
});
