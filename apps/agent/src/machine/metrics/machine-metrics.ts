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

/** Allocations whose drivers are asked at the same time: an engine with hundreds of containers is not flooded. */
export const ASKED_AT_ONCE = 16;
/** What drivers have not said by then is left out, ms: whoever scrapes does not wait for an engine that hangs. */
export const PATIENCE_MS = 2_000;

/** One allocation here. */
export interface MeasuredAlloc {
  counted(): CountedAllocation;
  /** @param task empty: all that run */
  usage(task: string): Promise<AllocResourceUsage>;
}

export interface MachineMetricsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** With its standing as the servers see it. */
  readonly node: () => MeasuredNode;
  readonly hostStats: () => Promise<HostStats>;
  readonly allocs: () => readonly MeasuredAlloc[];
  /** What is shown of the machine is not older than this, and no newer for whoever asks more often, ms. */
  readonly collectionIntervalMs: number;
  /** `publish_node_metrics`, `publish_allocation_metrics` (OP-105). */
  readonly publishNode: boolean;
  readonly publishAllocations: boolean;
  /** Labels that all series have. */
  readonly host: Labels;
}

/** The same, as it is counted at one look. */
interface Looked extends CountedAllocation {
  readonly source: MeasuredAlloc;
}

/**
 * What this machine tells of itself to those who scrape it: `client.…` of OP-104. Looked at only when somebody asks, and
 * once per collection interval however many ask. Cost of a look: one of the machine, O(tasks here), and one question per
 * allocation to its driver if allocations are published; none of it waits longer than PATIENCE_MS. Memory: the last look.
 */
export class MachineMetrics {
  private last: Promise<Shown> | undefined;
  private lastMs = 0;
  private readonly oomKills = new OomKills();
  /** Ids of allocations whose drivers have not answered yet: they are not asked again meanwhile. */
  private readonly asked = new Set<string>();

  constructor(private readonly options: MachineMetricsOptions) {}

  readMetrics(): Promise<Shown> {
    const nowMs = this.options.clock.nowMs();
    if (this.last && isYounger(this.lastMs, nowMs, this.options.collectionIntervalMs)) return this.last;
    this.lastMs = nowMs;
    return (this.last = this.measure());
  }

  private async measure(): Promise<Shown> {
    const { node, host, publishNode, publishAllocations } = this.options;
    const labels = { ...nodeLabels(node()), ...host };
    const allocs = this.options.allocs().map((source): Looked => ({ ...source.counted(), source }));
    const gauges = [...standingSeries(allocs, labels), ...loadSeries(node(), allocs, labels)];
    if (publishNode) for (const item of hostSeries(await this.options.hostStats(), labels)) gauges.push(item);
    if (!publishAllocations) return { gauges, counters: [], samples: [] };
    return {
      gauges: [...gauges, ...allocs.flatMap((one) => this.given(one)), ...(await this.usage(allocs))],
      counters: this.lives(allocs),
      samples: [],
    };
  }

  private given({ alloc, tasks }: CountedAllocation): Series[] {
    return Object.entries(alloc.AllocatedResources.Tasks)
      .filter(([task]) => tasks[task]?.State === 'running')
      .flatMap(([task, given]) => givenSeries(given, this.labelsOf(alloc, task)));
  }

  private lives(allocs: readonly CountedAllocation[]): Series[] {
    const tasks = allocs.flatMap(({ alloc, tasks: states }) =>
      Object.entries(states).map(([task, state]) => ({ key: `${alloc.ID}/${task}`, alloc, task, state })),
    );
    const kills = this.oomKills.countNew(new Map(tasks.map(({ key, state }) => [key, state.Events])));
    return tasks.flatMap(({ key, alloc, task, state }) =>
      lifeCounters(state, kills.get(key) ?? 0, this.labelsOf(alloc, task)),
    );
  }

  private async usage(allocs: readonly Looked[]): Promise<Series[]> {
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
    if (this.asked.has(alloc.ID)) return [];
    this.asked.add(alloc.ID);
    try {
      const { Tasks } = await source.usage('');
      return Object.entries(Tasks).flatMap(([task, { ResourceUsage }]) =>
        usageSeries(ResourceUsage, this.labelsOf(alloc, task)),
      );
    } catch {
      return []; // its driver cannot say; the task's own state tells what is wrong with it
    } finally {
      this.asked.delete(alloc.ID);
    }
  }

  private labelsOf(...of: Parameters<typeof taskLabels>): Labels {
    return { ...taskLabels(...of), ...this.options.host };
  }
}
