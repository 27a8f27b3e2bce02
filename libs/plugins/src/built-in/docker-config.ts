import { z } from 'zod';
import {
  block,
  blocks,
  checkConfig,
  type CheckedConfig,
  flag,
  map,
  mergeBlocks,
  text,
  texts,
  whole,
} from './config-shape.js';

const list = texts.default([]);

const auth = z.strictObject({
  username: text.default(''),
  password: text.default(''),
  email: text.default(''),
  server_address: text.default(''),
});

const logging = z.strictObject({ type: text.optional(), driver: text.optional(), config: map });

const device = z.strictObject({
  host_path: text.pipe(z.string().min(1)),
  container_path: text.optional(),
  cgroup_permissions: text.default('rwm'),
});

const invalidPeriod = 'invalid value for cpu_cfs_period';

const propagation = z.enum(['private', 'rprivate', 'slave', 'rslave', 'shared', 'rshared']);

const mount = z.strictObject({
  type: z.enum(['bind', 'volume', 'tmpfs']).default('volume'),
  target: text.pipe(z.string().min(1)),
  source: text.default(''),
  readonly: flag.default(false),
  bind_options: block(z.strictObject({ propagation: propagation.optional() })),
  tmpfs_options: block(z.strictObject({ mode: whole(z.int()).optional(), size: whole(z.int()).optional() })),
  volume_options: block(
    z.strictObject({
      no_copy: flag.default(false),
      labels: map,
      driver_config: block(z.strictObject({ name: text.default(''), options: map })),
    }),
  ),
});

/** The configuration of a task, with the keys that job files use (AG-281). */
const schema = z.strictObject({
  image: z.string({ error: 'image is required' }).min(1, 'image is required'),
  image_pull_timeout: text.optional(),
  force_pull: flag.default(false),
  load: text.default(''),
  auth: block(auth),
  auth_soft_fail: flag.default(false),
  command: text.default(''),
  args: list,
  entrypoint: z.union([z.string().transform((one) => [one]), texts]).optional(),
  work_dir: text.optional(),
  hostname: text.optional(),
  labels: map,
  ports: list,
  port_map: z.preprocess(mergeBlocks, z.record(z.string(), z.coerce.number().int().min(1).max(65_535))).default({}),
  network_mode: text.optional(),
  network_aliases: list,
  ipv4_address: text.default(''),
  ipv6_address: text.default(''),
  mac_address: text.optional(),
  dns_servers: list,
  dns_search_domains: list,
  dns_options: list,
  extra_hosts: list,
  volumes: list,
  volume_driver: text.default(''),
  mount: blocks(mount),
  mounts: blocks(mount),
  devices: blocks(device),
  readonly_rootfs: flag.default(false),
  shm_size: whole(z.int().min(0)).optional(),
  storage_opt: map,
  privileged: flag.default(false),
  cap_add: list,
  cap_drop: list,
  security_opt: list,
  group_add: list,
  ipc_mode: text.optional(),
  pid_mode: text.optional(),
  uts_mode: text.optional(),
  userns_mode: text.optional(),
  pids_limit: whole(z.int()).optional(),
  cgroupns: z.enum(['', 'host', 'private']).default(''),
  cpu_hard_limit: flag.default(false),
  cpu_cfs_period: whole(z.int().min(0, invalidPeriod).max(1_000_000, invalidPeriod)).default(0),
  cpuset_cpus: text
    .pipe(z.string().regex(/^$|^\d+(-\d+)?(,\d+(-\d+)?)*$/, 'cpuset_cpus: cores such as 0-3,5'))
    .default(''),
  memory_hard_limit: whole(z.int().min(0)).default(0),
  oom_score_adj: whole(z.int().min(0)).optional(),
  sysctl: map,
  ulimit: map,
  init: flag.default(false),
  runtime: text.optional(),
  interactive: flag.default(false),
  tty: flag.default(false),
  logging: block(logging),
  healthchecks: block(z.strictObject({ disable: flag.default(false) })),
});

export type DockerConfig = z.output<typeof schema>;
export type DockerMount = DockerConfig['mounts'][number];

/** Checks the `config` of a `docker` task (AG-281). */
export const checkDockerConfig = (config: Readonly<Record<string, unknown>>): CheckedConfig<DockerConfig> =>
  checkConfig('docker', schema, config);
