import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskOf } from './host-sample.js';
import {
  AS_FOUND,
  deviceOfDefaultRoute,
  fingerprintMachine,
  NoInterfaceError,
  usableMemory,
  usableProcessors,
} from './machine.js';

const LOOPBACK = Object.entries(os.networkInterfaces()).find(([, all]) => all?.some((one) => one.internal));

describe('what a machine has', () => {
  it('AG-20: as found', async () => {
    const { resources, attributes } = await fingerprintMachine('.');
    expect(resources.Cpu.CpuShares).toBe(Number(attributes['cpu.totalcompute']));
    expect(resources.Memory.MemoryMB).toBe(Math.floor(Number(attributes['memory.totalbytes']) / 2 ** 20));
    expect(Number(attributes['cpu.frequency']) * resources.Cpu.TotalCpuCores).toBeGreaterThanOrEqual(
      resources.Cpu.CpuShares,
    );
    expect(attributes['waybill.cpu.source']).not.toBe('setting');
    expect(resources).toMatchObject({ MinDynamicPort: 20_000, MaxDynamicPort: 32_000 });
    expect(resources.Networks?.[0]).toMatchObject({ MBits: 1_000, IP: attributes['unique.network.ip-address'] });
    expect(Object.values(attributes)).not.toContain('');
  });

  it('AG-20: as its operator says', async () => {
    const { resources, attributes } = await fingerprintMachine('.', {
      ...AS_FOUND,
      cpuTotalMhz: 12_000,
      memoryTotalMb: 512,
      diskTotalMb: 7_000,
      networkSpeedMbits: 40,
      dynamicPorts: [25_000, 25_100],
    });
    expect(resources).toMatchObject({
      Cpu: { CpuShares: 12_000 },
      Memory: { MemoryMB: 512 },
      Disk: { DiskMB: 7_000 },
      MinDynamicPort: 25_000,
      MaxDynamicPort: 25_100,
    });
    expect(resources.Networks?.[0]?.MBits).toBe(40);
    expect(attributes).toMatchObject({
      'cpu.totalcompute': '12000',
      'waybill.cpu.source': 'setting',
      'memory.totalbytes': String(512 * 2 ** 20),
      'waybill.memory.source': 'setting',
      'unique.storage.bytestotal': String(7_000 * 2 ** 20),
      'unique.storage.bytesfree': String(7_000 * 2 ** 20),
      'waybill.disk.source': 'setting',
    });
  });

  it('AG-20: no more than the cgroup of the agent may use, and says so', async () => {
    const limits = {
      memoryBytes: { amount: 64 * 2 ** 20, source: 'cgroup memory.max' },
      cpus: { amount: 0.5, source: 'cgroup cpu.max' },
    };
    const found = await fingerprintMachine('.', AS_FOUND, {});
    expect(found.attributes['memory.totalbytes']).toBe(String(os.totalmem()));
    expect(found.attributes['waybill.memory.source']).toBe('operating system');
    const { resources, attributes } = await fingerprintMachine('.', AS_FOUND, limits);
    const half = Math.floor((0.5 * found.resources.Cpu.CpuShares) / os.cpus().length);
    expect(resources).toMatchObject({
      Cpu: { CpuShares: half, TotalCpuCores: 1, ReservableCpuCores: [] },
      Processors: { Topology: { OverrideTotalCompute: half } },
      Memory: { MemoryMB: 64 },
    });
    expect(attributes).toMatchObject({
      'cpu.totalcompute': String(half),
      'cpu.numcores': '1',
      'cpu.reservablecores': '0',
      'waybill.cpu.source': `${found.attributes['waybill.cpu.source']}, cgroup cpu.max`,
      'memory.totalbytes': String(64 * 2 ** 20),
      'waybill.memory.source': 'cgroup memory.max',
    });
    const overridden = await fingerprintMachine('.', { ...AS_FOUND, cpuTotalMhz: 9_000, memoryTotalMb: 512 }, limits);
    expect(overridden.resources).toMatchObject({ Cpu: { CpuShares: 9_000 }, Memory: { MemoryMB: 512 } });
  });

  it('AG-20: a quota counts as so many processors, and one that is no bound is none', () => {
    const speed = { mhz: [3_000, 3_000, 2_000, 2_000], source: 'cpufreq base_frequency' };
    const quota = (amount: number) => ({ cpus: { amount, source: 'cgroup cpu.max' } });
    expect(usableProcessors(4, speed, quota(2.5), 0)).toEqual({
      mhz: 6_250,
      overrideMhz: 6_250,
      cores: 3,
      reservable: 2,
      source: 'cpufreq base_frequency, cgroup cpu.max',
    });
    const whole = { mhz: 10_000, overrideMhz: 0, cores: 4, reservable: 4, source: 'cpufreq base_frequency' };
    for (const limits of [quota(4), quota(64), {}]) expect(usableProcessors(4, speed, limits, 0)).toEqual(whole);
    expect(usableMemory(2 ** 30, { memoryBytes: { amount: 2 ** 63, source: 'cgroup memory.max' } }, 0)).toEqual({
      amount: 2 ** 30,
      source: 'operating system',
    });
  });

  it('AG-20: the disk is the device that the directory is on, also over a link: its size, and what is free of it', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-disk-'));
    try {
      symlinkSync('/dev/shm', path.join(dir, 'link'));
      for (const at of [dir, path.join(dir, 'link')]) {
        const { resources, attributes } = await fingerprintMachine(at);
        const disk = await diskOf(realpathSync(at));
        expect(attributes['unique.storage.volume']).toBe(disk.Device);
        expect(attributes['unique.storage.bytestotal']).toBe(String(disk.Size));
        const free = Number(attributes['unique.storage.bytesfree']);
        expect(free).toBeLessThanOrEqual(disk.Size);
        expect(resources.Disk.DiskMB).toBe(Math.floor(free / 2 ** 20));
        expect(attributes['waybill.disk.source']).toBe('file system');
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('AG-20: the interface that tasks get the address of may be named, and has to be there', async () => {
    const [device = '', addresses = []] = LOOPBACK ?? [];
    const { resources } = await fingerprintMachine('.', { ...AS_FOUND, networkInterface: device });
    expect(resources.Networks?.[0]?.Device).toBe(device);
    expect(addresses.map(({ address }) => address)).toContain(resources.Networks?.[0]?.IP);
    const missing = fingerprintMachine('.', { ...AS_FOUND, networkInterface: 'none0' });
    await expect(missing).rejects.toThrow(NoInterfaceError);
  });

  it('NW-73: its host networks name addresses of its interfaces', async () => {
    const [device] = LOOPBACK!;
    const hostNetworks = [{ Name: 'inside', CIDR: '127.0.0.0/8', Interface: device, ReservedPorts: '80' }];
    const { resources } = await fingerprintMachine('.', { ...AS_FOUND, hostNetworks });
    const addresses = resources.NodeNetworks!.flatMap(({ Addresses }) => Addresses ?? []);
    expect(addresses.filter(({ Alias }) => Alias === 'inside')).toEqual([
      { Family: 'ipv4', Alias: 'inside', Address: '127.0.0.1', ReservedPorts: '80', Gateway: '' },
    ]);
    expect(addresses.filter(({ Alias }) => Alias === 'default')).toHaveLength(1);
  });

  it('AG-20: tasks get the address of the interface that leads to everywhere, by the cheapest way', () => {
    const head = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT';
    const route = (device: string, destination: string, metric: number, mask: string) =>
      [device, destination, '0100A8C0', '0003', '0', '0', metric, mask, '0', '0', '0'].join('\t');
    const routes = [
      head,
      route('docker0', '000011AC', 0, '0000FFFF'),
      route('wlan0', '00000000', 600, '00000000'),
      route('eth1', '00000000', 100, '00000000'),
      route('tun0', '00000000', 0, '00000080'),
      '',
    ];
    expect(deviceOfDefaultRoute(routes.join('\n'))).toBe('eth1');
    expect(deviceOfDefaultRoute(head)).toBeUndefined();
    expect(deviceOfDefaultRoute('')).toBeUndefined();
  });
});
