import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const MB = 1024 * 1024;

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
  api.play('GET /v1/nodes', [{ ID: NODE }]);
  api.play(`GET /v1/node/${NODE}`, {
    ID: NODE,
    Attributes: { 'unique.storage.volume': '/dev/sda1' },
    NodeResources: { Cpu: { CpuShares: 8000 }, Memory: { MemoryMB: 4096 }, Disk: { DiskMB: 10_240 } },
    ReservedResources: { Cpu: { CpuShares: 500 }, Memory: { MemoryMB: 1024 } },
  });
  api.play(`GET /v1/node/${NODE}/allocations`, [
    { ID: ALLOC, ClientStatus: 'running' },
    { ID: 'ended', ClientStatus: 'complete' },
  ]);
  api.play('GET /v1/client/stats', {
    CPUTicksConsumed: 1234.5,
    CPU: [
      { CPU: 'cpu0', User: 12.5, System: 3, Idle: 84.5 },
      { CPU: 'cpu1', Idle: 100 },
    ],
    Memory: { Total: 4096 * MB, Available: 1024 * MB, Used: 2048 * MB, Free: 512 * MB },
    DiskStats: [
      { Device: 'tmpfs', Mountpoint: '/tmp', Size: MB, Used: MB, UsedPercent: 100 },
      { Device: '/dev/sda1', Size: 10_240 * MB, Used: 512 * MB },
    ],
  });
  const measured = (TotalTicks: number, RSS: number, Usage: number) => ({
    ResourceUsage: { CpuStats: { TotalTicks }, MemoryStats: { RSS, Usage } },
  });
  api.play(`GET /v1/client/allocation/${ALLOC}/stats`, {
    Tasks: { web: measured(100.6, 10 * MB, 64 * MB), log: measured(20, 32 * MB, 0) },
  });
});
afterEach(() => api.stop());

const status = (...flags: string[]) => api.run(['node', 'status', ...flags, '1f3a']);
const HOST = /\nHost Resource Utilization\nCPU +Memory +Disk\n1234\/8000 MHz +2\.0 GiB\/4\.0 GiB +512 MiB\/10 GiB\n/;

describe('what a machine uses, as node status shows it', () => {
  it('CL-506: running allocations against what is not reserved, the machine against all that it has', async () => {
    const { code, out } = await status();
    expect(code).toBe(0);
    expect(out).toMatch(/\nAllocation Resource Utilization\nCPU +Memory\n120\/7500 MHz +96 MiB\/3\.0 GiB\n/);
    expect(out).toMatch(HOST);
    expect(api.seen.find(({ line }) => line === 'GET /v1/client/stats')?.query.get('node_id')).toBe(NODE);
    expect((await status('-short')).out).not.toContain('Utilization');
  });

  it('CL-505: -stats adds what each core, the memory and each disk are measured at, before the allocations', async () => {
    const { out } = await status('-stats');
    expect((await status()).out).not.toContain('CPU Stats');
    expect(out).toContain(
      [
        '\nCPU Stats',
        'CPU    = cpu0',
        'User   = 12.50%',
        'System = 3.00%',
        'Idle   = 84.50%',
        '',
        'CPU    = cpu1',
        'User   = 0.00%',
      ].join('\n'),
    );
    expect(out).toMatch(
      /\nMemory Stats\nTotal +=.*4\.0 GiB\nAvailable = 1\.0 GiB\nUsed +=.*2\.0 GiB\nFree +=.*512 MiB\n/,
    );
    expect(out).toMatch(/\nDisk Stats\nDevice +=.*tmpfs\nMountPoint +=.*\/tmp\n(.*\n)+Used Percent +=.*100\.00%\n/);
    expect(out.indexOf('Disk Stats')).toBeLessThan(out.indexOf('\nAllocations\n'));
    expect((await status('-stats', '-short')).out).not.toContain('Stats');
  });

  it('CL-506, CL-507: an allocation that does not answer costs its section, a machine both', async () => {
    api.play(`GET /v1/client/allocation/${ALLOC}/stats`, [500, 'boom']);
    const without = await status();
    expect(without.out).not.toContain('Allocation Resource Utilization');
    expect(without.out).toMatch(HOST);
    api.play('GET /v1/client/stats', [404, 'No path to node']);
    const { code, out, err } = await status();
    expect(code).toBe(0);
    expect(out).not.toContain('Utilization');
    expect(out).toContain('\nAllocations\n');
    expect(err).toMatch(/^error fetching node stats: .*No path to node/);
  });
});
