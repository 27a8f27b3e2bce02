import { createHash } from 'node:crypto';
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';
import { boundingCapabilities } from '../capabilities.js';
import { portVariable } from '../../tasks/task-env.js';
import { checkVariable } from '../supervised/task-environment.js';
import { INSIDE, type TaskConfig, TaskConfigError, type TaskDns, type TaskMount, type TaskPort } from '../driver.js';
import type { DockerConfig, DockerMount } from '@waybill/plugins';

const MB = 1024 * 1024;
/** Every container carries the ID of its allocation under this label (AG-282). */
export const ALLOC_LABEL = 'com.hashicorp.nomad.alloc_id';
/**
 * The label with the task id of the start that a container belongs to. The container's name alone is used again for a
 * later start (AG-250).
 */
export const TASK_LABEL = 'dev.waybill.task_id';
/** The label with the agent that owns the container, for agents that share an engine. */
export const AGENT_LABEL = 'dev.waybill.agent';

/** The largest logs that the engine keeps of a container's output, until the output is in the task's own files. */
const LOGGING = { Type: 'json-file', Config: { 'max-size': '64m', 'max-file': '2' } };

/** DockerPolicy says which rights the agent gives to tasks (AG-285). */
export interface DockerPolicy {
  readonly volumes: boolean;
  readonly privileged: boolean;
  readonly allowedCapabilities: readonly string[];
}

export interface ContainerOrder {
  readonly task: TaskConfig;
  readonly config: DockerConfig;
  readonly policy: DockerPolicy;
  readonly agent: string;
  /** The speed of one core, by which MHz become a time of cores. */
  readonly mhzPerCore: number;
  /**
   * The container whose network the task's container joins. If it is absent, the container has its own network (NW-35).
   */
  readonly joins?: string;
  /**
   * Files of the agent that replace those of the engine. A mount of the job at the same place wins. Absent if there are
   * none.
   */
  readonly files?: readonly TaskMount[];
}

/** Says whether a task runs in the namespace of its group. Its own `network_mode` wins (NW-25, NW-35). */
export const isInGroupNetwork = ({ network }: TaskConfig, { network_mode }: DockerConfig): boolean =>
  network !== undefined && !network_mode;

/** Returns the DNS settings. Those of the group win over those of the task (NW-93). Undefined if neither has any. */
export function dnsOf({ dns }: TaskConfig, config: DockerConfig): TaskDns | undefined {
  if (dns) return dns;
  const own = { servers: config.dns_servers, searches: config.dns_search_domains, options: config.dns_options };
  return Object.values(own).some((list) => list.length > 0) ? own : undefined;
}

/** The names that the engine accepts for a container. */
const CONTAINER_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/**
 * Returns the name of a task's container (AG-282). Characters that the engine does not accept are replaced, and a
 * digest then distinguishes tasks whose names would become equal.
 */
export function containerName({ task, allocId }: Pick<TaskConfig, 'task' | 'allocId'>): string {
  if (CONTAINER_NAME.test(task)) return `${task}-${allocId}`;
  const digest = createHash('sha256').update(task).digest('hex').slice(0, 8);
  return `${digest}_${task.replaceAll(/[^a-zA-Z0-9_.-]/g, '_')}-${allocId}`;
}

/** @throws StartError */
function variableText([name, value]: [string, string]): string {
  checkVariable(name, value);
  return `${name}=${value}`;
}

/**
 * Refuses configurations that the agent does not allow or that contradict themselves (AG-285).
 * @throws TaskConfigError
 */
export function checkPolicy(config: DockerConfig, policy: DockerPolicy): void {
  if (config.privileged && !policy.privileged)
    throw new TaskConfigError('docker: privileged containers are not allowed on this machine');
  boundingCapabilities(config.cap_add, config.cap_drop, policy.allowedCapabilities);
  for (const volume of config.volumes) {
    const { source } = volumeOf(volume);
    if (source.startsWith('/')) refuseHostPath(source, policy);
  }
  if (config.volume_driver !== '' && !policy.volumes)
    throw new TaskConfigError(
      `docker: volumes are not enabled on this machine; cannot use the volume driver ${config.volume_driver}`,
    );
  for (const mount of mountsOf(config)) {
    if (mount.type === 'bind' && mount.source === '') throw new TaskConfigError('docker: a bind mount needs a source');
    if (mount.type === 'bind' && mount.source.startsWith('/')) refuseHostPath(mount.source, policy);
    const machinePath = mount.type === 'volume' ? pathOfVolume(mount) : undefined;
    if (machinePath !== undefined) refuseHostPath(machinePath, policy);
  }
  for (const limit of Object.entries(config.ulimit)) ulimitOf(limit);
}

/**
 * Returns the machine's path from which the engine's own volume driver would make the volume, or undefined if the
 * volume has no such path.
 */
function pathOfVolume({ volume_options }: DockerMount): string | undefined {
  const { name = '', options = {} } = volume_options?.driver_config ?? {};
  if (name !== '' && name !== 'local') return undefined;
  const { o = '', device = '' } = options;
  return device.startsWith('/') || /(^|,)r?bind(,|$)/.test(o) ? device : undefined;
}

function refuseHostPath(source: string, policy: DockerPolicy): void {
  if (!policy.volumes)
    throw new TaskConfigError(`docker: volumes are not enabled on this machine; cannot mount host paths: ${source}`);
}

/** Returns the mounted paths below the task's directory. The caller has to check where they lead. */
export const relativeSources = (config: DockerConfig): string[] =>
  [
    ...(config.volume_driver === '' ? config.volumes.map((volume) => volumeOf(volume).source) : []),
    ...mountsOf(config).flatMap(({ type, source }) => (type === 'bind' ? [source] : [])),
  ].filter((source) => !source.startsWith('/'));

/**
 * Returns the engine's options for a task's container (AG-281, AG-282). Pure.
 * @param found the path on the machine of each relative source
 * @throws TaskConfigError for a port that the group does not have
 */
export function containerOptions(order: ContainerOrder, found: ReadonlyMap<string, string>): ContainerCreateOptions {
  const { task, config } = order;
  // In a namespace of the group, CNI maps the ports (NW-104).
  const published = task.network ? {} : publishedPorts(config, task);
  const command = [...(config.command === '' ? [] : [config.command]), ...config.args];
  return {
    name: containerName(task),
    Image: config.image,
    Env: Object.entries({ ...task.env, ...portMapVariables(config) }).map(variableText),
    Labels: {
      ...config.labels,
      [ALLOC_LABEL]: task.allocId,
      [TASK_LABEL]: task.taskId,
      [AGENT_LABEL]: order.agent,
    },
    ...(command.length > 0 && { Cmd: command }),
    ...(config.entrypoint && { Entrypoint: config.entrypoint }),
    ...(config.work_dir && { WorkingDir: config.work_dir }),
    ...(config.hostname && { Hostname: config.hostname }),
    ...(config.mac_address && { MacAddress: config.mac_address }),
    ...(task.user !== '' && { User: task.user }),
    Tty: config.tty,
    OpenStdin: config.interactive,
    ExposedPorts: Object.fromEntries(Object.keys(published).map((port) => [port, {}])),
    ...(config.healthchecks?.disable && { Healthcheck: { Test: ['NONE'] } }),
    ...endpointConfig(config),
    HostConfig: hostConfig(order, published, found),
  };
}

/** The settings of the container in a network of the engine, which has to be named for them. */
function endpointConfig({ network_mode, network_aliases: Aliases, ipv4_address, ipv6_address }: DockerConfig) {
  if (!network_mode) return {};
  const IPAMConfig = {
    ...(ipv4_address !== '' && { IPv4Address: ipv4_address }),
    ...(ipv6_address !== '' && { IPv6Address: ipv6_address }),
  };
  const endpoint = {
    ...(Aliases.length > 0 && { Aliases }),
    ...(Object.keys(IPAMConfig).length > 0 && { IPAMConfig }),
  };
  return Object.keys(endpoint).length === 0
    ? {}
    : { NetworkingConfig: { EndpointsConfig: { [network_mode]: endpoint } } };
}

/** The devices that plugins reserved for the task (PG-98). */
const ofPlugins = ({
  devices = [],
}: TaskConfig): { PathOnHost: string; PathInContainer: string; CgroupPermissions: string }[] =>
  devices.map(({ source, destination, permissions }) => ({
    PathOnHost: source,
    PathInContainer: destination,
    CgroupPermissions: permissions,
  }));

function hostConfig(
  { task, config, policy, mhzPerCore, joins, files = [] }: ContainerOrder,
  published: Readonly<Record<string, { HostIp: string; HostPort: string }[]>>,
  found: ReadonlyMap<string, string>,
): HostConfig {
  const ofGroup = joins === undefined ? undefined : `container:${joins}`;
  const network = config.network_mode ?? ofGroup ?? (task.networkMode === 'none' ? 'none' : undefined);
  const dns = dnsOf(task, config);
  const ofJob = jobMounts(config, found);
  const places = new Set(ofJob.map(({ Target }) => Target));
  const ownFiles = files.filter(({ destination }) => !places.has(destination));
  const logType = config.logging?.type ?? config.logging?.driver;
  const added = boundingCapabilities(config.cap_add, config.cap_drop, policy.allowedCapabilities);
  return {
    ...memoryOf(task, config),
    ...cpuOf(task, config, mhzPerCore),
    Mounts: [...ownMounts(task), ...[...ownFiles, ...(task.mounts ?? [])].map(taskMount), ...ofJob],
    ...(network && { NetworkMode: network }),
    PortBindings: published,
    Privileged: config.privileged,
    ReadonlyRootfs: config.readonly_rootfs,
    CapDrop: ['ALL'],
    CapAdd: added.map((capability) => capability.toUpperCase()),
    SecurityOpt: config.security_opt,
    GroupAdd: config.group_add,
    // The engine refuses these options for a container that joins another one. Mounted files replace them there.
    ...(joins === undefined && {
      Dns: [...(dns?.servers ?? [])],
      DnsSearch: [...(dns?.searches ?? [])],
      DnsOptions: [...(dns?.options ?? [])],
      ExtraHosts: config.extra_hosts,
    }),
    Devices: [
      ...ofPlugins(task),
      ...config.devices.map((device) => ({
        PathOnHost: device.host_path,
        PathInContainer: device.container_path ?? device.host_path,
        CgroupPermissions: device.cgroup_permissions,
      })),
    ],
    Ulimits: Object.entries(config.ulimit).map(ulimitOf),
    Sysctls: config.sysctl,
    StorageOpt: config.storage_opt,
    Init: config.init,
    LogConfig: config.logging ? { Type: logType ?? LOGGING.Type, Config: config.logging.config } : LOGGING,
    ...(config.shm_size !== undefined && { ShmSize: config.shm_size }),
    ...(config.pids_limit !== undefined && { PidsLimit: config.pids_limit }),
    ...(config.oom_score_adj !== undefined && { OomScoreAdj: config.oom_score_adj }),
    ...(config.ipc_mode && { IpcMode: config.ipc_mode }),
    ...(config.pid_mode && { PidMode: config.pid_mode }),
    ...(config.cgroupns !== '' && { CgroupnsMode: config.cgroupns }),
    ...(config.uts_mode && { UTSMode: config.uts_mode }),
    ...(config.userns_mode && { UsernsMode: config.userns_mode }),
    ...(config.runtime && { Runtime: config.runtime }),
  };
}

/** The period of a hard limit in microseconds, unless the job names one. */
const CFS_PERIOD_US = 100_000;

/**
 * Returns the weight of the task's MHz against other tasks, the cores that it may use, and a limit of its MHz if the job
 * wants a hard one.
 */
function cpuOf({ resources }: TaskConfig, config: DockerConfig, mhzPerCore: number): HostConfig {
  const CpuPeriod = config.cpu_cfs_period || CFS_PERIOD_US;
  const isHard = config.cpu_hard_limit && resources !== undefined && mhzPerCore > 0;
  return {
    ...(resources && { CpuShares: resources.cpuShares }),
    ...(config.cpuset_cpus !== '' && { CpusetCpus: config.cpuset_cpus }),
    ...(isHard && { CpuPeriod, CpuQuota: Math.max(MIN_QUOTA_US, quotaOf(resources.cpuShares, mhzPerCore, CpuPeriod)) }),
  };
}

/** The smallest quota that the kernel accepts, in microseconds. */
const MIN_QUOTA_US = 1_000;

const quotaOf = (mhz: number, mhzPerCore: number, periodUs: number): number =>
  Math.floor((mhz / mhzPerCore) * periodUs);

/** Returns the memory limits: the task's reserved memory, or more if the job says so. Nothing is swapped out. */
function memoryOf({ resources }: TaskConfig, { memory_hard_limit: hardMB }: DockerConfig): HostConfig {
  if (!resources || resources.memoryMB <= 0) return {};
  const limit = Math.max(hardMB, resources.memoryMaxMB, resources.memoryMB) * MB;
  const isSoft = limit > resources.memoryMB * MB;
  return { Memory: limit, MemorySwap: limit, ...(isSoft && { MemoryReservation: resources.memoryMB * MB }) };
}

const ownMounts = ({ paths }: TaskConfig): MountSettings[] => [
  bindMount(paths.allocDir, INSIDE.allocDir),
  bindMount(paths.localDir, INSIDE.localDir),
  bindMount(paths.secretsDir, INSIDE.secretsDir),
];

const PROPAGATION = { private: 'rprivate', 'host-to-task': 'rslave', bidirectional: 'rshared' } as const;

/** Mounts with the propagation that the task asks for: a CSI node plugin needs a shared one (CW-5). */
const taskMount = ({ source, destination, readOnly, propagation }: TaskMount): MountSettings =>
  bindMount(source, destination, readOnly, PROPAGATION[propagation as keyof typeof PROPAGATION] ?? 'rprivate');

function jobMounts(config: DockerConfig, found: ReadonlyMap<string, string>): MountSettings[] {
  const onMachine = (source: string): string => (source.startsWith('/') ? source : (found.get(source) ?? source));
  const volumes = config.volumes.map((volume) => {
    const { source, target, options } = volumeOf(volume);
    if (config.volume_driver !== '') return namedVolume(source, target, options.includes('ro'), config.volume_driver);
    return bindMount(onMachine(source), target, options.includes('ro'));
  });
  return [...volumes, ...mountsOf(config).map((mount) => jobMount(mount, onMachine))];
}

function jobMount(mount: DockerMount, onMachine: (source: string) => string): MountSettings {
  const { type, target, source, readonly, bind_options, tmpfs_options, volume_options } = mount;
  const where = {
    Type: type,
    Target: target,
    Source: type === 'bind' ? onMachine(source) : source,
    ReadOnly: readonly,
  };
  if (type === 'bind') return bindMount(where.Source, target, readonly, bind_options?.propagation);
  if (type === 'tmpfs')
    return { ...where, TmpfsOptions: { SizeBytes: tmpfs_options?.size ?? 0, Mode: tmpfs_options?.mode ?? 0o1777 } };
  if (!volume_options) return where;
  const { name = '', options = {} } = volume_options.driver_config ?? {};
  const DriverConfig = { Name: name, Options: options };
  return { ...where, VolumeOptions: { NoCopy: volume_options.no_copy, Labels: volume_options.labels, DriverConfig } };
}

/** Returns a volume that a driver of the engine provides by its name. */
const namedVolume = (Source: string, Target: string, ReadOnly: boolean, driver: string): MountSettings => ({
  Type: 'volume',
  Source,
  Target,
  ReadOnly,
  VolumeOptions: { NoCopy: false, Labels: {}, DriverConfig: { Name: driver, Options: {} } },
});

const bindMount = (
  Source: string,
  Target: string,
  ReadOnly = false,
  Propagation: NonNullable<MountSettings['BindOptions']>['Propagation'] = 'rprivate',
): MountSettings => ({ Type: 'bind', Source, Target, ReadOnly, BindOptions: { Propagation } });

const mountsOf = ({ mount, mounts }: DockerConfig): DockerMount[] => [...mount, ...mounts];

/** Parses `source:target[:options]`. @throws TaskConfigError */
function volumeOf(text: string): { source: string; target: string; options: readonly string[] } {
  const [source, target, options = '', ...rest] = text.split(':');
  if (!source || !target || rest.length > 0)
    throw new TaskConfigError(`docker: invalid volume "${text}": source:target[:options]`);
  return { source, target, options: options.split(',') };
}

/** Parses a limit such as `nofile = "2048:4096"`. @throws TaskConfigError */
function ulimitOf([name, value]: [string, string]): { Name: string; Soft: number; Hard: number } {
  const [soft, hard = soft] = value.split(':').map(Number);
  if (soft === undefined || hard === undefined || !Number.isInteger(soft) || !Number.isInteger(hard))
    throw new TaskConfigError(`docker: malformed ulimit ${name}: "${value}"`);
  return { Name: name, Soft: soft, Hard: hard };
}

/** PublishedPort is a port of the machine that the engine maps into a container. */
interface PublishedPort {
  readonly port: TaskPort;
  readonly inside: number;
}

/**
 * Returns the ports that the container publishes (NW-104): those of the group that `ports` names, and all of the task's
 * own network, which only old jobs have. `port_map` says where the latter are inside.
 * @throws TaskConfigError
 */
function portsToPublish(
  { ports, port_map }: DockerConfig,
  { ports: ofGroup = [], ownPorts }: Pick<TaskConfig, 'ports' | 'ownPorts'>,
): PublishedPort[] {
  if (!ownPorts && Object.keys(port_map).length > 0)
    throw new TaskConfigError(
      ofGroup.length > 0
        ? "'port_map' cannot map group network ports, use 'ports' instead"
        : 'Trying to map ports but no network interface is available',
    );
  const named = ports.filter((label) => !ownPorts?.some((port) => port.label === label));
  const published = named.map((label): PublishedPort => {
    const port = ofGroup.find((one) => one.label === label);
    if (!port) throw new TaskConfigError(`Port "${label}" not found, check network block`);
    return { port, inside: port.to > 0 ? port.to : port.hostPort };
  });
  const own = (ownPorts ?? []).map((port) => ({ port, inside: port_map[port.label] ?? port.hostPort }));
  return [...published, ...own];
}

/** Returns the ports inside the container by label (NW-104). @throws TaskConfigError */
export const portsInside = (
  config: DockerConfig,
  task: Pick<TaskConfig, 'ports' | 'ownPorts'>,
): Record<string, number> =>
  Object.fromEntries(portsToPublish(config, task).map(({ port, inside }) => [port.label, inside]));

function publishedPorts(config: DockerConfig, task: TaskConfig) {
  const published: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const { port, inside } of portsToPublish(config, task))
    for (const protocol of ['tcp', 'udp'])
      (published[`${inside}/${protocol}`] ??= []).push({ HostIp: port.hostIp, HostPort: String(port.hostPort) });
  return published;
}

/** Returns the variables of mapped ports: a task sees the ports of its own network as `port_map` maps them (AG-227). */
const portMapVariables = ({ port_map }: DockerConfig): Record<string, string> =>
  Object.fromEntries(Object.entries(port_map).map(([label, port]) => [portVariable(label), String(port)]));
