import { PerformanceObserver } from 'node:perf_hooks';
import { type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

const NS_PER_MS = 1e6;

/**
 * This process by the names of the reference's (OP-104): active handles for goroutines, used heap for what is allocated,
 * resident memory for what the system gave; what Node.js does not know is 0. Counts collections of every kind, the small
 * ones too, and how long they took, from its start on.
 */
export class ProcessGauges {
  private runs = 0;
  private pauseMs = 0;
  private readonly observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      this.pauseMs += duration;
      this.runs++;
    }
  });

  start(): void {
    this.observer.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.observer.disconnect();
  }

  readGauges(host: Labels): Series[] {
    const { heapUsed, rss } = process.memoryUsage();
    const values = {
      num_goroutines: process.getActiveResourcesInfo().length,
      alloc_bytes: heapUsed,
      sys_bytes: rss,
      malloc_count: 0,
      free_count: 0,
      heap_objects: 0,
      total_gc_pause_ns: Math.round(this.pauseMs * NS_PER_MS),
      total_gc_runs: this.runs,
    };
    return Object.entries(values).map(([name, value]) => ({
      name: `${METRICS_PREFIX}runtime.${name}`,
      labels: host,
      value,
    }));
  }
}
