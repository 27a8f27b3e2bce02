import { type Clock, isYounger, type Timers } from '@waybill/model';
import type { AllocResourceUsage, HostStats } from '@waybill/rpc';
import type { Labels, Series, Shown } from '@waybill/telemetry';
import {
  type CountedAllocation,
  hostSeries,
  loadSeries,
  type MeasuredNode,
  nodeLabels,
  standingSeries,
} from './node-series.js';
import { OomKills } from './oom-kills.js';
import { givenSeries, lifeCounters, taskLabels, usageSeries } from './task-series.js';

/**
 * The number of allocations whose drivers are asked at the same time. It keeps an engine with hundreds of containers
 * from being flooded.
 */
export const ASKED_AT_ONCE = 16;
/**
 * The longest wait for drivers in milliseconds. Later answers are left out, so that a scrape does not wait for an
 * engine that hangs.
 */
export const PATIENCE_MS = 2_000;

/** MeasuredAlloc is one allocation on this machine. */
export interface MeasuredAlloc {
  countedAllocation(): CountedAllocation;
  /** Returns the use of a task. @param task the task's name; empty for all running tasks */
  usage(task: string): Promise<AllocResourceUsage>;
}

export interface MachineMetricsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns the node with its status as the servers see it. */
  readonly node: () => MeasuredNode;
  readonly hostStats: () => Promise<HostStats>;
  readonly allocs: () => readonly MeasuredAlloc[];
  /** The largest age of the metrics in milliseconds. More frequent scrapes get the same metrics. */
  readonly collectionIntervalMs: number;
  /** `publish_node_metrics`, `publish_allocation_metrics` (OP-105). */
  readonly publishNode: boolean;
  readonly publishAllocations: boolean;
  /** Labels that all series have. */
  readonly host: Labels;
}

/** Looked is an allocation as it was counted at one measurement. */
interface Looked extends CountedAllocation {
  readonly source: MeasuredAlloc;
}

/**
 * MachineMetrics measures this machine for scrapes: `client.…` of OP-104. It measures only on demand, and once per
 * collection interval for any number of scrapes. Cost of a measurement: one sample of the machine, O(tasks here), and
 * one question per allocation to its driver if allocations are published. No measurement waits for drivers longer than
 * PATIENCE_MS. Memory: the last measurement.
 */
export class MachineMetrics {
  private last: Promise<Shown> | undefined;
  private lastMs = 0;
  private readonly oomKills = new OomKills();
  /** Ids of allocations whose drivers have not answered yet. They are not asked again until they have. */
  private readonly measuring = new Set<string>();

  constructor(private readonly options: MachineMetricsOptions) {}

  readMetrics(): Promise<Shown> {
    const nowMs = this.options.clock.nowMs();
    if (this.last && isYounger(this.lastMs, nowMs, this.options.collectionIntervalMs)) return this.last;
    this.lastMs = nowMs;
    return (this.last = this.measureSeries());
  }

  private async measureSeries(): Promise<Shown> {
    const { node, host, publishNode, publishAllocations } = this.options;
    const labels = { ...nodeLabels(node()), ...host };
    const allocs = this.options.allocs().map((source): Looked => ({ ...source.countedAllocation(), source }));
    const gauges = [...standingSeries(allocs, labels), ...loadSeries(node(), allocs, labels)];
    if (publishNode) for (const item of hostSeries(await this.options.hostStats(), labels)) gauges.push(item);
    if (!publishAllocations) return { gauges, counters: [], samples: [] };
    return {
      gauges: [
        ...gauges,
        ...allocs.flatMap((one) => this.assignedSeries(one)),
        ...(await this.allocationUsage(allocs)),
      ],
      counters: this.lifeSeries(allocs),
      samples: [],
    };
  }

  private assignedSeries({ alloc, tasks }: CountedAllocation): Series[] {
    return Object.entries(alloc.AllocatedResources.Tasks)
      .filter(([task]) => tasks[task]?.State === 'running')
      .flatMap(([task, given]) => givenSeries(given, this.labelsOf(alloc, task)));
  }

  private lifeSeries(allocs: readonly CountedAllocation[]): Series[] {
    const tasks = allocs.flatMap(({ alloc, tasks: states }) =>
      Object.entries(states).map(([task, state]) => ({ key: `${alloc.ID}/${task}`, alloc, task, state })),
    );
    const kills = this.oomKills.countNew(new Map(tasks.map(({ key, state }) => [key, state.Events])));
    return tasks.flatMap(({ key, alloc, task, state }) =>
      lifeCounters(state, kills.get(key) ?? 0, this.labelsOf(alloc, task)),
    );
  }

  private async allocationUsage(allocs: readonly Looked[]): Promise<Series[]> {
    const told: Series[] = [];
    const running = allocs.filter((one) => one.status === 'running').values();
    const all = Promise.all(
      Array.from({ length: ASKED_AT_ONCE }, async () => {
        for (const one of running) for (const item of await this.usageOf(one)) told.push(item);
      }),
    );
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => (cancel = this.options.timers.after(PATIENCE_MS, resolve)));
    await Promise.race([all, late]);
    cancel();
    return [...told];
  }

  private async usageOf({ alloc, source }: Looked): Promise<Series[]> {
    if (this.measuring.has(alloc.ID)) return [];
    this.measuring.add(alloc.ID);
    try {
      const { Tasks } = await source.usage('');
      return Object.entries(Tasks).flatMap(([task, { ResourceUsage }]) =>
        usageSeries(ResourceUsage, this.labelsOf(alloc, task)),
      );
    } catch {
      return []; // the driver cannot answer; the task's own state shows what is wrong
    } finally {
      this.measuring.delete(alloc.ID);
    }
  }

  private labelsOf(...of: Parameters<typeof taskLabels>): Labels {
    return { ...taskLabels(...of), ...this.options.host };
  }
}
