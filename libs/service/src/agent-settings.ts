import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { z } from 'zod';
import { consulServers, vaultServers } from './login-forms.js';
import {
  flag,
  hostNetworks,
  hostVolumes,
  keyValues,
  pluginBlocks,
  port,
  ports,
  positive,
  ranges,
  word,
} from './setting-forms.js';

const amount = z.coerce.number().int().min(0);
/** 20 days, the longest time that a stopping agent and its supervisor wait for tasks. */
const MAX_KILL_TIMEOUT_MS = 20 * 24 * 3_600_000;
const percent = z.coerce.number().min(0).max(100);
/** Kept as given, because machines report it in that form. */
const reservedPorts = z
  .string()
  .refine((text) => ports.safeParse(text).success, 'ports and ranges with commas between, such as 22,8000-8100');

/** Names of capabilities(7) in lower case without CAP_. */
const capabilities = z
  .string()
  .regex(/^$|^[a-z_]+(,[a-z_]+)*$/, 'capabilities with commas between, such as chown,net_bind_service')
  .transform((text) => text.split(',').filter((name) => name !== ''));

/** Names of drivers. */
const driverNames = z
  .string()
  .regex(/^$|^[A-Za-z0-9_.-]+( *, *[A-Za-z0-9_.-]+)*$/, 'names of drivers with commas between, such as docker,exec')
  .transform((text) => text.split(',').flatMap((name) => name.trim() || []));

const idRanges = ranges('ids and ranges with commas between, such as 0,1000-1999', 2 ** 32 - 2);

/** Absolute paths, separated by `:`. */
const directories = z
  .string()
  .regex(/^\/[^:]*(:\/[^:]*)*$/, 'absolute paths with ":" between, such as /opt/cni/bin:/usr/lib/cni')
  .transform((text) => text.split(':'));

/** A name for Linux, of at most 15 characters. */
const interfaceName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/, 'at most 15 letters, digits, "-", "_" and "."');

/** A network in CIDR notation with room for a gateway and at least one task. */
const subnet = (family: 4 | 6) =>
  z.string().refine((text) => isSubnet(text, family), `an IPv${family} network such as ${SUBNETS[family]}`);
const SUBNETS = { 4: '172.26.64.0/20', 6: 'fd00:26::/64' } as const;

function isSubnet(text: string, family: 4 | 6): boolean {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  return isIP(address) === family && Number(bits) <= (family === 4 ? 30 : 126) && Number(bits) > 0;
}

/** Names separated by commas, in which `*` stands for any text. */
const namePatterns = z
  .string()
  .regex(/^[^\s=]*$/, 'names of variables with commas between, such as AWS_*,VAULT_TOKEN')
  .transform((text) => text.split(',').filter((name) => name !== ''));

/** Environment variables of a machine's agent. */
export const AGENT_SETTINGS = {
  WAYBILL_DATACENTER: word.default('dc1').describe('agent: datacenter of this machine'),
  WAYBILL_NODE_NAME: z.string().min(1).default(hostname()).describe('agent: name of this machine'),
  WAYBILL_NODE_CLASS: z.string().default('').describe('agent: class of this machine'),
  WAYBILL_NODE_POOL: word.default('default').describe('agent: pool this machine is in'),
  WAYBILL_CLIENT_INTRO_TOKEN: z
    .string()
    .default('')
    .describe('agent: token of `node intro create`, for the first registration of this machine'),
  WAYBILL_NODE_META: keyValues.default({}).describe('agent: key=value,… that jobs may constrain on'),
  WAYBILL_CPU_TOTAL_COMPUTE: amount
    .default(0)
    .describe('agent: MHz that all cores of this machine have together; 0: as found'),
  WAYBILL_MEMORY_TOTAL_MB: amount.default(0).describe('agent: MiB of memory this machine has; 0: as found'),
  WAYBILL_DISK_TOTAL_MB: amount.default(0).describe('agent: MiB of disk for allocations; 0: what is free at the start'),
  WAYBILL_NETWORK_INTERFACE: z
    .string()
    .default('')
    .describe('agent: interface whose address tasks get; empty: the first that others reach'),
  WAYBILL_NETWORK_SPEED: amount.default(1_000).describe('agent: Mbit/s of that interface'),
  WAYBILL_HOST_NETWORKS: hostNetworks
    .default({})
    .describe(
      'agent: JSON of named sets of addresses for ports with host_network, such as ' +
        '{"public":{"cidr":"203.0.113.0/24","interface":"eth1","reserved_ports":"22"}}',
    ),
  WAYBILL_MIN_DYNAMIC_PORT: port.default(20_000).describe('agent: first port that tasks may be given'),
  WAYBILL_MAX_DYNAMIC_PORT: port.default(32_000).describe('agent: last port that tasks may be given'),
  WAYBILL_CNI_PATH: directories
    .default(['/opt/cni/bin', '/usr/libexec/cni', '/usr/lib/cni'])
    .describe('agent: directories of CNI plugins with ":" between; the first that has one counts'),
  WAYBILL_CNI_CONFIG_DIR: z
    .string()
    .min(1)
    .default('/opt/cni/config')
    .describe('agent: directory of networks that jobs may use as cni/<name>'),
  WAYBILL_BRIDGE_NETWORK_NAME: interfaceName
    .default('nomad')
    .describe('agent: bridge of this machine for jobs with network mode bridge'),
  WAYBILL_BRIDGE_NETWORK_SUBNET: subnet(4)
    .default('172.26.64.0/20')
    .describe('agent: IPv4 network whose addresses they get'),
  WAYBILL_BRIDGE_NETWORK_SUBNET_IPV6: subnet(6)
    .or(z.literal(''))
    .default('')
    .describe('agent: IPv6 network whose addresses they get as well; empty: none'),
  WAYBILL_BRIDGE_NETWORK_HAIRPIN_MODE: flag
    .default(false)
    .describe("agent: they reach their own ports through this machine's address"),
  WAYBILL_RESERVED_CPU: amount.default(0).describe('agent: MHz that are not for tasks'),
  WAYBILL_RESERVED_MEMORY_MB: amount.default(0).describe('agent: MiB of memory that are not for tasks'),
  WAYBILL_RESERVED_DISK_MB: amount.default(0).describe('agent: MiB of disk that are not for tasks'),
  WAYBILL_RESERVED_PORTS: reservedPorts
    .default('')
    .describe('agent: ports that are not for tasks, such as 22,8000-8100'),
  WAYBILL_MAX_KILL_TIMEOUT_MS: positive
    .max(MAX_KILL_TIMEOUT_MS)
    .default(30_000)
    .describe('agent: the kill_timeout of a task is cut to this; at most 20 days'),
  WAYBILL_DRIVER_ALLOWLIST: driverNames
    .default([])
    .describe('agent: the only drivers that run, such as docker,exec; empty: all'),
  WAYBILL_DRIVER_DENYLIST: driverNames.default([]).describe('agent: drivers that do not run'),
  WAYBILL_PLUGIN_DIR: z
    .string()
    .default('')
    .describe('agent: where external plugins for drivers and devices are; empty: plugins in its directory'),
  WAYBILL_PLUGINS: pluginBlocks
    .default({})
    .describe('agent: JSON of the plugins to load by their file, such as {"podman":{"args":[],"config":{}}}'),
  WAYBILL_HOST_VOLUMES: hostVolumes
    .default({})
    .describe('agent: name=/path,… of directories that jobs may mount; :ro behind a path: for reading only'),
  WAYBILL_HOST_VOLUMES_DIR: z
    .string()
    .default('')
    .describe('agent: where plugins make host volumes; empty: host_volumes in its directory'),
  WAYBILL_HOST_VOLUME_PLUGIN_DIR: z
    .string()
    .default('')
    .describe('agent: where plugins for host volumes are; empty: host_volume_plugins in its directory'),
  WAYBILL_GC_VOLUMES_ON_NODE_GC: flag
    .default(false)
    .describe('agent: the servers forget the host volumes of this machine when they forget the machine'),
  WAYBILL_GC_MAX_ALLOCS: positive
    .default(50)
    .describe('agent: with more allocations than this the oldest that have ended are removed'),
  WAYBILL_GC_DISK_USAGE_THRESHOLD: percent
    .default(80)
    .describe('agent: percent of the disk in use above which those that have ended are removed, the oldest first'),
  WAYBILL_GC_INODE_USAGE_THRESHOLD: percent.default(70).describe('agent: the same for inodes'),
  WAYBILL_AGENT_DIR: z.string().default('.waybill/agent').describe('agent: directory of its state and of allocations'),
  WAYBILL_AGENT_HTTP_ADDR: z.string().default('').describe('agent: ip:port shown as its HTTP address'),
  WAYBILL_AGENT_ARTIFACT_FILES: flag
    .default(false)
    .describe('agent: artifacts of jobs may be files of this machine, whatever the agent can read'),
  WAYBILL_CHROOT: keyValues
    .default({})
    .describe('agent: /path=/inside,… of directories that tasks of exec see for reading; empty: the usual ones'),
  WAYBILL_ALLOWED_CAPABILITIES: capabilities
    .optional()
    .describe('agent: capabilities that tasks of exec and docker may have, with commas between; unset: the usual ones'),
  WAYBILL_RAW_EXEC_ENABLED: flag
    .default(true)
    .describe('agent: tasks of raw_exec may run on this machine, with nothing that keeps them apart from it'),
  WAYBILL_RAW_EXEC_USER: z
    .string()
    .max(256)
    .default('')
    .describe('agent: user of raw_exec tasks whose job names none, such as nobody; empty: the user of the agent'),
  WAYBILL_RAW_EXEC_DENIED_UIDS: idRanges
    .default([])
    .describe('agent: user ids that tasks of raw_exec may not run as, such as 0,1000-1999'),
  WAYBILL_RAW_EXEC_DENIED_GIDS: idRanges.default([]).describe('agent: the same for groups'),
  WAYBILL_RAW_EXEC_DENIED_ENVVARS: namePatterns
    .default([])
    .describe('agent: variables that tasks of raw_exec do not see, such as AWS_*,VAULT_TOKEN'),
  WAYBILL_MOCK_DRIVER_ENABLED: flag
    .default(true)
    .describe('agent: tasks of mock_driver may run on this machine, which only pretend to do something'),
  WAYBILL_DOCKER_ENDPOINT: z
    .string()
    .default('')
    .describe('agent: container engine, unix:///path or tcp://host:port; empty: DOCKER_HOST, or the usual socket'),
  WAYBILL_DOCKER_VOLUMES: flag.default(false).describe('agent: tasks of docker may mount any path of this machine'),
  WAYBILL_DOCKER_PRIVILEGED: flag.default(false).describe('agent: tasks of docker may be privileged'),
  WAYBILL_DOCKER_IMAGE_GC: flag
    .default(true)
    .describe('agent: images from a registry that no task has used for three minutes are removed'),
  WAYBILL_DOCKER_INFRA_IMAGE: z
    .string()
    .default('')
    .describe('agent: image of the containers that hold the networks of groups; empty: the agent makes one'),
  WAYBILL_DOCKER_INFRA_IMAGE_PULL_TIMEOUT_MS: positive
    .default(300_000)
    .describe('agent: longest pull of WAYBILL_DOCKER_INFRA_IMAGE, milliseconds'),
  WAYBILL_AGENT_VAULT: vaultServers
    .default({})
    .describe(
      'agent: URL of the Vault in which tasks log in, or JSON by cluster such as {"default":{"address":"https://vault.example:8200","auth_path":"jwt-nomad"}}; empty: none',
    ),
  WAYBILL_AGENT_CONSUL: consulServers
    .default({})
    .describe(
      'agent: the same for Consul, such as http://127.0.0.1:8500 or {"default":{"address":"http://127.0.0.1:8500","auth_method":"nomad-workloads"}}',
    ),
  WAYBILL_AGENT_SECRETS_IN_MEMORY: flag
    .default(true)
    .describe('agent: secrets of tasks are kept in a file system in memory, where it may mount one'),
  WAYBILL_AGENT_REMOTE_EXEC: flag.default(true).describe('agent: commands may be run in its tasks'),
  WAYBILL_AGENT_LEAVE_ON_INTERRUPT: flag.default(false).describe('agent: leave the cluster at SIGINT'),
  WAYBILL_AGENT_LEAVE_ON_TERMINATE: flag.default(false).describe('agent: leave the cluster at SIGTERM'),
  WAYBILL_AGENT_DRAIN_ON_SHUTDOWN: flag
    .default(false)
    .describe('agent: who leaves drains this machine first, and waits for that'),
  WAYBILL_AGENT_DRAIN_DEADLINE_MS: positive
    .default(3_600_000)
    .describe('agent: what has not moved after this is moved at once'),
  WAYBILL_AGENT_DRAIN_FORCE: flag.default(false).describe('agent: everything is moved at once'),
  WAYBILL_AGENT_DRAIN_IGNORE_SYSTEM_JOBS: flag.default(false).describe('agent: system jobs stay'),
  WAYBILL_AGENT_STOP_TASKS_ON_EXIT: flag
    .default(false)
    .describe('agent: stop all tasks when the agent ends in order; of one that is killed they go on (AG-192)'),
} as const;
