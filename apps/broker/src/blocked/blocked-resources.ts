import type { Clock, Evaluation } from '@waybill/model';

/** A sum is removed after it was zero for this long, so that its gauge disappears (EB-192). */
export const ZERO_SUM_AGE_MS = 15 * 60_000;

/** Resources that blocked evaluations wait for. */
export interface BlockedSum {
  readonly labels: Readonly<Record<string, string>>;
  cpuMhz: number;
  memoryMB: number;
  changedAtMs: number;
}

/**
 * CPU and memory that blocked evaluations wait for, summed by job and by (datacenter, node class, node pool) (EB-194).
 * Memory: one sum for each job or combination that was ever blocked, until it has been zero for ZERO_SUM_AGE_MS.
 * Cost of a change: O(combinations of the evaluation).
 */
export class BlockedResources {
  private readonly jobs = new Map<string, BlockedSum>();
  private readonly places = new Map<string, BlockedSum>();

  constructor(private readonly clock: Clock) {}

  add(evaluation: Evaluation): void {
    this.change(evaluation, 1);
  }

  subtract(evaluation: Evaluation): void {
    this.change(evaluation, -1);
  }

  byJob(): IterableIterator<BlockedSum> {
    return this.jobs.values();
  }

  byPlace(): IterableIterator<BlockedSum> {
    return this.places.values();
  }

  /** Removes sums that are zero and have not changed for 15 minutes (EB-192). */
  prune(): void {
    const oldest = this.clock.nowMs() - ZERO_SUM_AGE_MS;
    for (const sums of [this.jobs, this.places])
      for (const [key, sum] of sums)
        if (sum.cpuMhz === 0 && sum.memoryMB === 0 && sum.changedAtMs < oldest) sums.delete(key);
  }

  clear(): void {
    this.jobs.clear();
    this.places.clear();
  }

  private change(evaluation: Evaluation, sign: 1 | -1): void {
    const { cpuMhz, memoryMB } = shortageOf(evaluation);
    if (cpuMhz === 0 && memoryMB === 0) return;
    const move = (sums: Map<string, BlockedSum>, labels: Readonly<Record<string, string>>): void => {
      const key = JSON.stringify(Object.values(labels));
      let sum = sums.get(key);
      if (!sum) sums.set(key, (sum = { labels, cpuMhz: 0, memoryMB: 0, changedAtMs: 0 }));
      sum.cpuMhz += sign * cpuMhz;
      sum.memoryMB += sign * memoryMB;
      sum.changedAtMs = this.clock.nowMs();
    };
    move(this.jobs, { namespace: evaluation.Namespace, job: evaluation.JobID });
    for (const labels of placesOf(evaluation)) move(this.places, labels);
  }
}

function shortageOf(evaluation: Evaluation): { cpuMhz: number; memoryMB: number } {
  let cpuMhz = 0;
  let memoryMB = 0;
  for (const metric of Object.values(evaluation.FailedTGAllocs))
    for (const { CPU, MemoryMB } of Object.values(metric.ResourcesExhausted ?? {})) {
      cpuMhz += CPU;
      memoryMB += MemoryMB;
    }
  return { cpuMhz, memoryMB };
}

function placesOf(evaluation: Evaluation): { datacenter: string; node_class: string; node_pool: string }[] {
  const datacenters = new Set<string>();
  const classes = new Set<string>();
  const pools = new Set<string>();
  for (const metric of Object.values(evaluation.FailedTGAllocs)) {
    for (const datacenter of Object.keys(metric.NodesAvailable ?? {})) datacenters.add(datacenter);
    const exhausted = Object.keys(metric.ClassExhausted ?? {});
    for (const nodeClass of exhausted.length > 0 ? exhausted : ['']) classes.add(nodeClass);
    pools.add(metric.NodePool);
  }
  return [...datacenters].flatMap((datacenter) =>
    [...classes].flatMap((node_class) => [...pools].map((node_pool) => ({ datacenter, node_class, node_pool }))),
  );
}
