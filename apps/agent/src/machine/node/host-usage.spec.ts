import { describe, expect, it } from 'vitest';
import { type CoreTimes, HostUsage } from './host-usage.js';

const sample = (atMs: number, ...cores: CoreTimes[]) => ({
  atMs,
  cores,
  memory: { total: 100, available: 60, free: 20 },
  disk: null,
  uptimeSeconds: 12.7,
});

describe('usage of the machine', () => {
  it('memory as it is, cores in percent and MHz since the last sample', () => {
    const usage = new HostUsage(1_000);
    usage.of(sample(0, { user: 0, system: 0, idle: 100 }, { user: 0, system: 0, idle: 100 }));
    const second = sample(1_000, { user: 500, system: 250, idle: 350 }, { user: 0, system: 0, idle: 1_100 });
    expect(usage.of(second)).toEqual({
      Memory: { Total: 100, Available: 60, Used: 40, Free: 20 },
      CPU: [
        { CPU: 'cpu0', User: 50, System: 25, Idle: 25, TotalPercent: 75, TotalTicks: 750 },
        { CPU: 'cpu1', User: 0, System: 0, Idle: 100, TotalPercent: 0, TotalTicks: 0 },
      ],
      DiskStats: [],
      AllocDirStats: null,
      DeviceStats: [],
      Uptime: 12,
      Timestamp: 1_000e6,
      CPUTicksConsumed: 750,
    });
    expect(usage.of({ ...second, atMs: 1_100 }).CPU[0]!.TotalPercent).toBe(75);
  });
});
