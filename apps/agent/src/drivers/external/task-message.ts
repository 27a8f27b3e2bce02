import path from 'node:path';
import type { TaskConfigMessage } from '@waybill/plugins';
import type { TaskConfig } from '../driver.js';

/** The pipes into which a task writes. */
export interface TaskPipes {
  readonly stdout: string;
  readonly stderr: string;
}

export interface MessageParts {
  /** The task's `config` block, encoded by the driver's schema. */
  readonly encoded: Uint8Array;
  readonly pipes: TaskPipes;
  /** The MHz of the whole machine. */
  readonly totalMhz: number;
}

const MIB = 1024 * 1024;

/** Describes a task for a driver (PG-56 to PG-58). */
export function taskMessage(config: TaskConfig, { encoded, pipes, totalMhz }: MessageParts): TaskConfigMessage {
  const { paths, dns, network, about, devices, deviceEnv } = config;
  return {
    id: config.taskId,
    name: config.task,
    msgpack_driver_config: encoded,
    env: config.env,
    device_env: deviceEnv ?? {},
    resources: resourcesOf(config, totalMhz),
    mounts: (config.mounts ?? []).map(({ source, destination, readOnly, propagation }) => ({
      task_path: destination,
      host_path: source,
      readonly: readOnly,
      propagation_mode: propagation || 'private',
    })),
    devices: (devices ?? []).map(({ source, destination, permissions }) => ({
      task_path: destination,
      host_path: source,
      cgroup_permissions: permissions,
    })),
    user: config.user,
    alloc_dir: path.dirname(paths.taskDir),
    stdout_path: pipes.stdout,
    stderr_path: pipes.stderr,
    alloc_id: config.allocId,
    ...(network && { network_isolation_spec: { mode: 'GROUP', path: network.namespace, labels: {} } }),
    ...(dns && { dns }),
    ...(about && {
      task_group_name: about.group,
      job_name: about.jobName,
      job_id: about.jobId,
      namespace: about.namespace,
      parent_job_id: about.parentJobId,
      node_name: about.nodeName,
      node_id: about.nodeId,
    }),
  };
}

function resourcesOf({ resources, ports }: TaskConfig, totalMhz: number): object {
  const { cpuShares = 0, cores = [], memoryMB = 0, memoryMaxMB = 0 } = resources ?? {};
  return {
    allocated_resources: {
      cpu: { cpu_shares: cpuShares },
      memory: { memory_mb: memoryMB, memory_max_mb: memoryMaxMB },
      networks: [],
    },
    linux_resources: {
      cpu_shares: cpuShares,
      memory_limit_bytes: Math.max(memoryMB, memoryMaxMB) * MIB,
      cpuset_cpus: cores.join(','),
      PercentTicks: totalMhz > 0 ? cpuShares / totalMhz : 0,
    },
    ports: (ports ?? []).map(({ label, hostIp, hostPort, to }) => ({ label, value: hostPort, to, host_ip: hostIp })),
  };
}
