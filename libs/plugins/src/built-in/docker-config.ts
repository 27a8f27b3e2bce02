import { z } from 'zod';
import { block, checkConfig, type CheckedConfig, map, mergeBlocks, texts } from './config-shape.js';

const list = texts.default([]);

const auth = z.strictObject({
  username: z.string().default(''),
  password: z.string().default(''),
  email: z.string().default(''),
  server_address: z.string().default(''),
});

const logging = z.strictObject({ type: z.string().optional(), driver: z.string().optional(), config: map });

const device = z.strictObject({
  host_path: z.string().min(1),
  container_path: z.string().optional(),
  cgroup_permissions: z.string().default('rwm'),
});

const propagation = z.enum(['private', 'rprivate', 'slave', 'rslave', 'shared', 'rshared']);

const mount = z.strictObject({
  type: z.enum(['bind', 'volume', 'tmpfs']).default('volume'),
  target: z.string().min(1),
  source: z.string().default(''),
  readonly: z.boolean().default(false),
  bind_options: block(z.strictObject({ propagation: propagation.optional() })),
  tmpfs_options: block(z.strictObject({ mode: z.int().optional(), size: z.int().optional() })),
  volume_options: block(
    z.strictObject({
      no_copy: z.boolean().default(false),
      labels: map,
      driver_config: block(z.strictObject({ name: z.string(), options: map })),
    }),
  ),
});

/** The configuration of a task, with the keys that job files use (AG-281). */
const schema = z.strictObject({
  image: z.string({ error: 'image is required' }).min(1, 'image is required'),
  image_pull_timeout: z.string().optional(),
  force_pull: z.boolean().default(false),
  load: z.string().default(''),
  auth: block(auth),
  auth_soft_fail: z.boolean().default(false),
  command: z.string().default(''),
  args: list,
  entrypoint: z.union([z.string().transform((one) => [one]), texts]).optional(),
  work_dir: z.string().optional(),
  hostname: z.string().optional(),
  labels: map,
  ports: list,
  port_map: z.preprocess(mergeBlocks, z.record(z.string(), z.coerce.number().int().min(1).max(65_535))).default({}),
  network_mode: z.string().optional(),
  network_aliases: list,
  ipv4_address: z.string().default(''),
  ipv6_address: z.string().default(''),
  mac_address: z.string().optional(),
  dns_servers: list,
  dns_search_domains: list,
  dns_options: list,
  extra_hosts: list,
  volumes: list,
  volume_driver: z.string().default(''),
  mount: z.array(mount).default([]),
  mounts: z.array(mount).default([]),
  devices: z.array(device).default([]),
  readonly_rootfs: z.boolean().default(false),
  shm_size: z.int().min(0).optional(),
  storage_opt: map,
  privileged: z.boolean().default(false),
  cap_add: list,
  cap_drop: list,
  security_opt: list,
  group_add: list,
  ipc_mode: z.string().optional(),
  pid_mode: z.string().optional(),
  uts_mode: z.string().optional(),
  userns_mode: z.string().optional(),
  pids_limit: z.int().optional(),
  cgroupns: z.enum(['', 'host', 'private']).default(''),
  cpu_hard_limit: z.boolean().default(false),
  cpu_cfs_period: z
    .int()
    .min(0, 'invalid value for cpu_cfs_period')
    .max(1_000_000, 'invalid value for cpu_cfs_period')
    .default(0),
  cpuset_cpus: z
    .string()
    .regex(/^$|^\d+(-\d+)?(,\d+(-\d+)?)*$/, 'cpuset_cpus: cores such as 0-3,5')
    .default(''),
  memory_hard_limit: z.int().min(0).default(0),
  oom_score_adj: z.int().min(0).optional(),
  sysctl: map,
  ulimit: map,
  init: z.boolean().default(false),
  runtime: z.string().optional(),
  interactive: z.boolean().default(false),
  tty: z.boolean().default(false),
  logging: block(logging),
  healthchecks: block(z.strictObject({ disable: z.boolean().default(false) })),
});

export type DockerConfig = z.output<typeof schema>;
export type DockerMount = DockerConfig['mounts'][number];

/** Checks the `config` of a `docker` task (AG-281). */
export const checkDockerConfig = (config: Readonly<Record<string, unknown>>): CheckedConfig<DockerConfig> =>
  checkConfig('docker', schema, config);
