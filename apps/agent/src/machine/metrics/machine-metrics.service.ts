import { msFromNs } from '@waybill/model';
import { hostLabels, type ServiceContext } from '@waybill/service';
import { sampleHost } from '../fingerprint/host-sample.js';
import { HostUsage } from '../node/host-usage.js';
import { MachineMetrics, type MeasuredAlloc } from './machine-metrics.js';
import type { MeasuredNode } from './node-series.js';

export interface MetricsSources {
  /** The directory of allocations. */
  readonly dir: string;
  readonly mhzPerCore: number;
  readonly node: () => MeasuredNode;
  readonly allocs: () => readonly MeasuredAlloc[];
}

/**
 * Returns the machine's metrics according to its settings. They sample the processors separately from other readers.
 */
export function machineMetricsOf({ settings, clock, timers }: ServiceContext, sources: MetricsSources): MachineMetrics {
  const usage = new HostUsage(sources.mhzPerCore);
  return new MachineMetrics({
    clock,
    timers,
    ...sources,
    hostStats: async () => usage.of(await sampleHost(sources.dir)),
    collectionIntervalMs: msFromNs(settings.WAYBILL_METRICS_COLLECTION_INTERVAL),
    publishNode: settings.WAYBILL_PUBLISH_NODE_METRICS,
    publishAllocations: settings.WAYBILL_PUBLISH_ALLOCATION_METRICS,
    host: hostLabels(settings),
  });
}
