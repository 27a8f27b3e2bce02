import type { AllocCheckStatus } from '@waybill/model';
import type {
  AllocResourceUsage,
  CpuStats,
  HostCpuStats,
  HostDiskStats,
  HostStats,
  MemoryStats,
  NodeIdentityResponse,
  NodeMetaResponse,
  ResourceUsage,
  TaskResourceUsage,
} from '@waybill/rpc';
import * as t from './schema.js';

const usage = t.object<ResourceUsage>({
  MemoryStats: t.object<MemoryStats>({
    RSS: t.uint,
    Cache: t.uint,
    Swap: t.uint,
    MappedFile: t.uint,
    Usage: t.uint,
    MaxUsage: t.uint,
    KernelUsage: t.uint,
    KernelMaxUsage: t.uint,
    Measured: t.listOf(t.text),
  }),
  CpuStats: t.object<CpuStats>({
    SystemMode: t.float,
    UserMode: t.float,
    TotalTicks: t.float,
    ThrottledPeriods: t.uint,
    ThrottledTime: t.uint,
    Percent: t.float,
    Measured: t.listOf(t.text),
  }),
  DeviceStats: t.listOf(t.anything),
});

const disk = t.object<HostDiskStats>({
  Device: t.text,
  Mountpoint: t.text,
  Size: t.uint,
  Used: t.uint,
  Available: t.uint,
  UsedPercent: t.float,
  InodesUsedPercent: t.float,
});

/** The schemas of what machines report about themselves and their tasks, on request. */
export const USAGE_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  AllocResourceUsage: t.object<AllocResourceUsage>({
    ResourceUsage: usage,
    Tasks: t.mapOf(t.object<TaskResourceUsage>({ ResourceUsage: usage, Timestamp: t.ns, Pids: t.maybeMapOf(usage) })),
    Timestamp: t.ns,
  }),
  HostStats: t.object<HostStats>({
    Memory: t.plain({ Total: t.uint, Available: t.uint, Used: t.uint, Free: t.uint }),
    CPU: t.listOf(
      t.object<HostCpuStats>({
        CPU: t.text,
        User: t.float,
        System: t.float,
        Idle: t.float,
        TotalPercent: t.float,
        TotalTicks: t.float,
      }),
    ),
    DiskStats: t.listOf(disk),
    AllocDirStats: t.nullable(disk),
    DeviceStats: t.listOf(t.anything),
    Uptime: t.uint,
    Timestamp: t.ns,
    CPUTicksConsumed: t.float,
  }),
  AllocCheckStatus: t.object<AllocCheckStatus>(
    {
      ID: t.text,
      Check: t.text,
      Group: t.text,
      Mode: t.oneOf('healthiness', 'readiness'),
      Output: t.text,
      Service: t.text,
      Task: t.text,
      Status: t.oneOf('success', 'failure', 'pending'),
      StatusCode: t.int,
      Timestamp: t.int,
    },
    ['Task', 'StatusCode'],
  ),
  NodeIdentity: t.object<NodeIdentityResponse>({ Claims: t.mapOf(t.anything) }),
  NodeMetadata: t.object<NodeMetaResponse>({
    Meta: t.mapOf(t.text),
    Dynamic: t.mapOf(t.nullable(t.text)),
    Static: t.mapOf(t.text),
  }),
};
