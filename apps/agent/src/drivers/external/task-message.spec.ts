import { expect, it } from 'vitest';
import type { TaskConfig } from '../driver.js';
import { taskMessage } from './task-message.js';

const config: TaskConfig = {
  taskId: 'a/web/1',
  allocId: 'a',
  task: 'web',
  user: 'nobody',
  config: {},
  env: { A: '1' },
  paths: {
    allocDir: '/d/a/alloc',
    logsDir: '/d/a/alloc/logs',
    taskDir: '/d/a/web',
    localDir: '/d/a/web/local',
    secretsDir: '/d/a/web/secrets',
    privateDir: '/d/a/web/private',
  },
  logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: false },
};
const parts = { encoded: Uint8Array.of(0x80), pipes: { stdout: '/o', stderr: '/e' }, totalMhz: 4_000 };

it('PG-56, PG-57: a driver is told about the resources of a task, with its reserved cores', () => {
  const resources = { cpuShares: 1_000, cores: [2, 5], memoryMB: 64, memoryMaxMB: 128 };
  const ports = [{ label: 'http', hostIp: '10.0.0.1', hostPort: 20_000, to: 80 }];
  expect(taskMessage({ ...config, resources, ports }, parts)).toMatchObject({
    id: 'a/web/1',
    alloc_dir: '/d/a',
    user: 'nobody',
    stdout_path: '/o',
    resources: {
      allocated_resources: { cpu: { cpu_shares: 1_000 }, memory: { memory_mb: 64, memory_max_mb: 128 } },
      linux_resources: {
        cpu_shares: 1_000,
        cpuset_cpus: '2,5',
        memory_limit_bytes: 128 * 1024 * 1024,
        PercentTicks: 0.25,
      },
      ports: [{ label: 'http', value: 20_000, to: 80, host_ip: '10.0.0.1' }],
    },
  });
  expect(taskMessage(config, parts)).toMatchObject({ resources: { linux_resources: { cpuset_cpus: '' } } });
});
