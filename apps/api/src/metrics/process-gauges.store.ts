import { PerformanceObserver } from 'node:perf_hooks';
import { type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

const NS_PER_MS = 1e6;

/**
 * ProcessGauges describes this process with the names of the reference (OP-104): active handles stand for goroutines,
 * the used heap for allocated memory, resident memory for the memory from the system. Figures that Node.js does not
 * have are 0. It counts garbage collections of every kind, small ones included, and their time since its start.
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
