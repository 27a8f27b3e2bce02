import { describe, expect, it } from 'vitest';
import { parsedRow, type ProcessRow, treeOf } from './process-table.js';
import { MIN_SAMPLE_MS, ProcessUsage } from './process-usage.js';

const row = (pid: number, parent: number, session: number): ProcessRow => ({
  pid,
  parent,
  session,
  userTicks: 0,
  systemTicks: 0,
});
const sampled = (pid: number, userTicks: number, systemTicks: number, rssBytes: number) => ({
  ...row(pid, 1, pid),
  userTicks,
  systemTicks,
  rssBytes,
  swapBytes: 0,
});

describe('usage of a process tree', () => {
  it('AG-278: the processes of the session, and those that left it but descend from it', () => {
    const rows = [row(1, 0, 1), row(10, 1, 10), row(11, 10, 10), row(12, 11, 12), row(13, 1, 10), row(20, 1, 20)];
    const pids = treeOf({ takenAtMs: 0, rows }, 10).map(({ pid }) => pid);
    expect(pids.toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13]);
  });

  it('reads a line of /proc whatever the name of the program; a zombie is none', () => {
    const line = (name: string, state = 'S') =>
      `42 (${name}) ${state} 7 42 40 0 -1 4194304 1 2 3 4 100 20 5 6 20 0 1 0 999 1 2`;
    const expected = { pid: 42, parent: 7, session: 40, userTicks: 105, systemTicks: 26 };
    expect(parsedRow(line('sh'))).toEqual(expected);
    expect(parsedRow(line('a ) R 1 1 (b'))).toEqual(expected);
    expect(parsedRow(line('sh', 'Z'))).toBeUndefined();
    expect(parsedRow('')).toBeUndefined();
  });

  it('AG-278: memory summed, processor time as percent of a core since the last sample and as MHz', () => {
    const usage = new ProcessUsage(0, 2_000);
    // 2 s of work in the 10 s since the start.
    const first = usage.addSample(10_000, [sampled(1, 100, 50, 4096), sampled(2, 50, 0, 1024)]);
    expect(first.ResourceUsage.MemoryStats).toMatchObject({ RSS: 5120 });
    expect(first.ResourceUsage.CpuStats).toMatchObject({ UserMode: 15, SystemMode: 5, Percent: 20, TotalTicks: 400 });
    expect(first.Timestamp).toBe(10_000e6);
    const second = usage.addSample(11_000, [sampled(1, 150, 50, 4096), sampled(2, 50, 50, 1024)]);
    expect(second.ResourceUsage.CpuStats).toMatchObject({ UserMode: 50, SystemMode: 50, TotalTicks: 2_000 });
    expect(second.Pids!['2']!.CpuStats).toMatchObject({ UserMode: 0, SystemMode: 50 });
  });

  it('AG-331: after the clock was set back it is measured anew, not repeated until the clock is there again', () => {
    const usage = new ProcessUsage(3_600_000, 1_000);
    usage.addSample(3_601_000, [sampled(1, 100, 0, 4096)]);
    expect(usage.recentSample(1_000)).toBeUndefined();
    expect(usage.addSample(1_000, [sampled(1, 150, 0, 8192)]).ResourceUsage).toMatchObject({
      MemoryStats: { RSS: 8192 },
      CpuStats: { Percent: 0 },
    });
    expect(usage.addSample(2_000, [sampled(1, 200, 0, 8192)]).ResourceUsage.CpuStats).toMatchObject({ Percent: 50 });
  });

  it('AG-331: what is told is never older than a second; a sample that is too young to say anything new is repeated', () => {
    const usage = new ProcessUsage(0, 1_000);
    const first = usage.addSample(1_000, [sampled(1, 100, 0, 1), sampled(2, 100, 0, 1)]);
    expect(usage.addSample(1_100, [sampled(1, 110, 0, 1)])).toBe(first);
    expect(usage.recentSample(1_249)).toBe(first);
    expect(usage.recentSample(1_250)).toBeUndefined();
    expect(MIN_SAMPLE_MS).toBeLessThanOrEqual(1_000);
    expect(usage.addSample(2_000, [sampled(1, 110, 0, 1)]).ResourceUsage.CpuStats.Percent).toBe(0);
  });
});
