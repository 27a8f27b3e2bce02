import { settle, type Task } from '@waybill/model';
import type { AllocResourceUsage, HostStats } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import type { Shown } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import type { AllocationRunner } from '../../allocations/allocation-runner.js';
import { aTask, FOREVER, setup } from '../../fixtures/running-allocation.js';
import { Gate } from '../../waiting/gate.js';
import { ASKED_AT_ONCE, MachineMetrics, type MeasuredAlloc, PATIENCE_MS } from './machine-metrics.js';

const DISK = { Device: '/dev/sda', Mountpoint: '/', Size: 100, Used: 40, Available: 60, UsedPercent: 40 };
const HOST: HostStats = {
  Memory: { Total: 100, Available: 60, Used: 40, Free: 20 },
  CPU: [{ CPU: 'cpu0', User: 50, System: 25, Idle: 25, TotalPercent: 75, TotalTicks: 750 }],
  DiskStats: [{ ...DISK, InodesUsedPercent: 7 }],
  AllocDirStats: null,
  DeviceStats: [],
  Uptime: 12,
  Timestamp: 0,
  CPUTicksConsumed: 750,
};
const NODE = fixtures.aNode({ ID: 'n1', Datacenter: 'dc1', NodeClass: '', NodePool: 'default' });
const OF_NODE = {
  node_id: 'n1',
  datacenter: 'dc1',
  node_class: 'none',
  node_pool: 'default',
  node_status: NODE.Status,
  node_scheduling_eligibility: NODE.SchedulingEligibility,
  host: 'h',
};

function machine(
  { time }: Pick<ReturnType<typeof setup>, 'time'>,
  allocs: readonly MeasuredAlloc[],
  publish: { publishNode?: boolean; publishAllocations?: boolean } = {},
) {
  let looks = 0;
  const metrics = new MachineMetrics({
    clock: time,
    timers: time,
    node: () => NODE,
    hostStats: async () => (looks++, HOST),
    allocs: () => allocs,
    collectionIntervalMs: 1_000,
    publishNode: true,
    publishAllocations: false,
    host: { host: 'h' },
    ...publish,
  });
  return { metrics, looks: () => looks };
}

const values = ({ gauges, counters }: Shown): Record<string, number> =>
  Object.fromEntries([...gauges, ...counters].map(({ name, value }) => [name.slice('nomad.client.'.length), value]));

async function ran(tasks: Task[], given: Parameters<typeof setup>[1] = {}) {
  const made = setup(tasks, given);
  made.runner.runAllocation();
  await settle();
  return made;
}

describe('what a machine tells of itself', () => {
  it('OP-104: its memory, cores, disks and uptime, by the names and labels of dashboards', async () => {
    const { metrics } = machine(setup([]), []);
    const { gauges } = await metrics.readMetrics();
    const found = (name: string) => gauges.filter((one) => one.name === `nomad.client.${name}`);
    expect(found('host.memory.available')).toEqual([
      { name: 'nomad.client.host.memory.available', labels: OF_NODE, value: 60 },
    ]);
    expect(found('host.cpu.idle')).toMatchObject([{ labels: { ...OF_NODE, cpu: 'cpu0' }, value: 25 }]);
    expect(found('host.disk.inodes_percent')).toMatchObject([{ labels: { ...OF_NODE, disk: '/dev/sda' }, value: 7 }]);
    expect(values(await metrics.readMetrics())).toMatchObject({
      'host.memory.total': 100,
      'host.memory.used': 40,
      'host.memory.free': 20,
      'host.cpu.total': 75,
      'host.cpu.total_percent': 75,
      'host.cpu.total_ticks': 750,
      'host.cpu.user': 50,
      'host.cpu.system': 25,
      'host.disk.size': 100,
      'host.disk.used': 40,
      'host.disk.available': 60,
      'host.disk.used_percent': 40,
      uptime: 12,
    });
  });

  it('OP-105: without publish_node_metrics nothing of the machine, which is not looked at; allocations are counted', async () => {
    const { metrics, looks } = machine(setup([]), [], { publishNode: false });
    const names = Object.keys(values(await metrics.readMetrics()));
    expect(names.filter((name) => name.startsWith('host') || name === 'uptime')).toEqual([]);
    expect(names).toContain('allocations.running');
    expect(looks()).toBe(0);
  });

  it('OP-105: however many ask, it is looked at once per collection interval', async () => {
    const made = setup([]);
    const { metrics, looks } = machine(made, []);
    await Promise.all([metrics.readMetrics(), metrics.readMetrics()]);
    made.time.freeze(999);
    await metrics.readMetrics();
    expect(looks()).toBe(1);
    made.time.freeze(1);
    await metrics.readMetrics();
    expect(looks()).toBe(2);
  });
});

describe('what a machine tells of its allocations', () => {
  it('OP-104: how many there are by what they do, and their tasks', async () => {
    const gate = new Gate();
    const waiting = { predecessorsEnded: () => gate.opened };
    const blocked = await ran([aTask('web', FOREVER)], waiting);
    const running = await ran([aTask('web', FOREVER), aTask('done', { run_for: '0s' })], { type: 'batch' });
    await running.time.pass(1);
    const ended = await ran([aTask('web', { run_for: '1s' })]);
    await ended.time.pass(1_000);
    const group = { EphemeralDisk: { Sticky: true, Migrate: true, SizeMB: 10 } };
    const directories = { inheritDisk: () => new Promise<void>(() => {}) };
    const moving = await ran([aTask('web', FOREVER)], { alloc: { PreviousAllocation: 'p' }, group, directories });
    const all = [blocked, running, ended, moving].map(({ runner }) => runner);
    const { metrics } = machine(running, all);
    const counted = values(await metrics.readMetrics());
    expect(counted).toMatchObject({ 'allocations.blocked': 1, 'allocations.migrating': 1, 'allocations.pending': 0 });
    expect(counted).toMatchObject({ 'allocations.running': 1, 'allocations.terminal': 1 });
    expect(counted).toMatchObject({ 'tasks.pending': 2, 'tasks.running': 1, 'tasks.dead': 2 });
  });

  it('OP-104: what those that are not over take, and what is left of the machine', async () => {
    const running = await ran([aTask('web', FOREVER)]);
    const ended = await ran([aTask('web', { run_for: '0s' })]);
    await ended.time.pass(1);
    const { metrics } = machine(running, [running.runner, ended.runner]);
    const counted = values(await metrics.readMetrics());
    const { Cpu, Memory } = Object.values(running.alloc.AllocatedResources.Tasks)[0]!;
    const disk = running.alloc.AllocatedResources.Shared.DiskMB;
    expect(counted).toMatchObject({ 'allocated.cpu': Cpu.CpuShares, 'allocated.memory': Memory.MemoryMB });
    expect(counted).toMatchObject({ 'allocated.disk': disk, 'allocated.max_memory': Memory.MemoryMB });
    const { NodeResources: total, ReservedResources: reserved } = NODE;
    expect(counted).toMatchObject({
      'unallocated.cpu': total.Cpu.CpuShares - reserved.Cpu.CpuShares - Cpu.CpuShares,
      'unallocated.memory': total.Memory.MemoryMB - reserved.Memory.MemoryMB - Memory.MemoryMB,
      'unallocated.disk': total.Disk.DiskMB - reserved.Disk.DiskMB - disk,
    });
  });
});

describe('what a machine tells of each task', () => {
  const publishAllocations = true;

  it('OP-105: nothing, and no driver is asked, without publish_allocation_metrics', async () => {
    const { runner, time } = await ran([aTask('web', FOREVER)]);
    let asked = 0;
    const usage = (task: string) => (asked++, runner.usage(task));
    const alloc = { countedAllocation: () => runner.countedAllocation(), usage };
    const names = async (publish: object) =>
      Object.keys(values(await machine({ time }, [alloc], publish).metrics.readMetrics())).filter((name) =>
        name.startsWith('allocs.'),
      );
    expect([await names({}), asked]).toEqual([[], 0]);
    expect([(await names({ publishAllocations })).length > 0, asked]).toEqual([true, 1]);
  });

  it('OP-104: what its driver measures and nothing else, what it was given, and what happened to it', async () => {
    const { alloc, runner, time } = await ran([aTask('web', FOREVER)]);
    const { gauges, counters } = await machine({ time }, [runner], { publishAllocations }).metrics.readMetrics();
    const own = (all: Shown['gauges']) => all.filter(({ name }) => name.startsWith('nomad.client.allocs.'));
    const labels = {
      job: alloc.JobID,
      namespace: 'default',
      task_group: alloc.TaskGroup,
      alloc_id: alloc.ID,
      task: 'web',
      host: 'h',
    };
    for (const one of [...own(gauges), ...counters]) expect(one.labels).toEqual(labels);
    const { Cpu, Memory } = alloc.AllocatedResources.Tasks['web']!;
    expect(values({ gauges: own(gauges), counters, samples: [] })).toEqual({
      'allocs.memory.rss': expect.any(Number) as unknown,
      'allocs.cpu.allocated': Cpu.CpuShares,
      'allocs.memory.allocated': Memory.MemoryMB * 1024 * 1024,
      'allocs.running': 1,
      'allocs.failed': 0,
      'allocs.complete': 0,
      'allocs.restart': 0,
      'allocs.oom_killed': 0,
    });
  });

  it('OP-104: starts, restarts, ends and kills for want of memory are counted', async () => {
    const policy = { Attempts: 1, Interval: 1800e9, Delay: 5e9, Mode: 'fail', RenderTemplates: false };
    const failing = aTask('web', { run_for: '1s', exit_code: 1 }, { RestartPolicy: policy });
    const { runner, time } = await ran([failing, aTask('done', { run_for: '1s' })]);
    const killed = (): ReturnType<AllocationRunner['countedAllocation']> => {
      const one = runner.countedAllocation();
      const Events = one.tasks['web']!.Events.map((event) => ({ ...event, Details: { oom_killed: 'true' } }));
      return { ...one, tasks: { ...one.tasks, web: { ...one.tasks['web']!, Events } } };
    };
    const { metrics } = machine({ time }, [{ countedAllocation: killed, usage: (task) => runner.usage(task) }], {
      publishAllocations,
    });
    const of = async (task: string) => {
      const { counters } = await metrics.readMetrics();
      return values({ gauges: [], counters: counters.filter(({ labels }) => labels['task'] === task), samples: [] });
    };
    await time.pass(2_000);
    expect(await of('web')).toMatchObject({ 'allocs.running': 1, 'allocs.restart': 1, 'allocs.oom_killed': 1 });
    await time.pass(60_000);
    const ended = { 'allocs.running': 2, 'allocs.restart': 1, 'allocs.failed': 1, 'allocs.complete': 0 };
    expect(await of('web')).toEqual({ ...ended, 'allocs.oom_killed': 2 });
    expect(await of('done')).toMatchObject({ 'allocs.running': 1, 'allocs.failed': 0, 'allocs.complete': 1 });
    await time.pass(1_000);
    expect(await of('web')).toMatchObject({ 'allocs.oom_killed': 2 });
  });

  it('a driver that hangs is waited for no longer than it may, and not asked again before it has answered', async () => {
    const made = await ran([aTask('web', FOREVER)]);
    let asked = 0;
    const hangs = (): Promise<AllocResourceUsage> => (asked++, new Promise(() => {}));
    const allocs: MeasuredAlloc[] = Array.from({ length: 2 * ASKED_AT_ONCE }, (_, n) => {
      const one = { ...made.runner.countedAllocation(), alloc: { ...made.alloc, ID: `a${n}` } };
      return { countedAllocation: () => one, usage: hangs };
    });
    const { metrics } = machine(made, [...allocs, made.runner], { publishAllocations });
    const look = async () => {
      const reading = metrics.readMetrics();
      await made.time.pass(PATIENCE_MS);
      return (await reading).gauges.some(({ name }) => name === 'nomad.client.allocs.memory.rss');
    };
    expect([await look(), asked]).toEqual([false, ASKED_AT_ONCE]);
    expect([await look(), asked]).toEqual([false, 2 * ASKED_AT_ONCE]);
    expect([await look(), asked]).toEqual([true, 2 * ASKED_AT_ONCE]);
  });
});
