import type { CancelTimer, Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/** KeepLimits are the limits above which the oldest ended allocations are removed (AG-210). */
export interface KeepLimits {
  readonly allocs: number;
  readonly diskPercent: number;
  readonly inodesPercent: number;
}

export const KEEP_LIMITS: KeepLimits = { allocs: 50, diskPercent: 80, inodesPercent: 70 };
/** The interval in milliseconds between two checks. There is also a check after each pull. */
export const COLLECT_EVERY_MS = 60_000;
/** The collector removes at most this many allocations at the same time (AG-211). */
export const MAX_COLLECTING = 2;

/** EndedAllocation is an allocation that has ended, and whose end the servers have confirmed. */
export interface EndedAllocation {
  readonly id: string;
  readonly endedAtMs: number;
}

export interface DiskUse {
  readonly diskPercent: number;
  readonly inodesPercent: number;
}

/** CollectableAllocations are the allocations of this machine, for the garbage collector. */
export interface CollectableAllocations {
  /** The number of allocations on this machine, running or ended. */
  readonly size: number;
  endedAllocations(): readonly EndedAllocation[];
  /** Removes all remains of an allocation on this machine. The servers' record of it stays (AG-215). */
  collect(allocId: string): Promise<void>;
}

export interface AllocationGarbageCollectorDependencies {
  readonly timers: Timers;
  readonly logger: Logger;
  readonly allocations: CollectableAllocations;
  readonly diskUse: () => Promise<DiskUse>;
  /** The limits; the default is KEEP_LIMITS. */
  readonly limits?: KeepLimits;
}

/**
 * AllocationGarbageCollector removes the remains of ended allocations from this machine (agent.md section 19).
 *
 * States: stopped → idle → collecting → idle … A check either finds that the limits hold, or removes the oldest ended
 * allocations, at most MAX_COLLECTING at a time. It repeats until the limits hold or nothing is left to remove. All
 * requests during a check lead to one more check. Running allocations are never removed (AG-211), and no caller waits
 * for the collector (AG-212). Cost of a check with ended allocations: one system call. Cost of a removal: the
 * allocation's files. One timer.
 */
export class AllocationGarbageCollector {
  private cancel: CancelTimer = () => {};
  private collecting: Promise<void> | undefined;
  private isAskedAgain = false;
  private isStopped = false;

  constructor(private readonly deps: AllocationGarbageCollectorDependencies) {}

  start(): void {
    this.cancel = this.deps.timers.after(COLLECT_EVERY_MS, () => {
      this.collectIfFull();
      if (!this.isStopped) this.start();
    });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel();
    await this.collecting;
  }

  collectIfFull(): void {
    if (this.isStopped || this.deps.allocations.endedAllocations().length === 0) return;
    if (this.collecting) {
      this.isAskedAgain = true;
      return;
    }
    this.collecting = this.collectWhileFull().finally(() => {
      this.collecting = undefined;
      if (this.isAskedAgain) {
        this.isAskedAgain = false;
        this.collectIfFull();
      }
    });
  }

  /** Removes one ended allocation (AG-213). @returns false if the allocation is unknown here or has not ended */
  async collectOne(allocId: string): Promise<boolean> {
    if (!this.deps.allocations.endedAllocations().some(({ id }) => id === allocId)) return false;
    await this.removeAllocations([allocId]);
    return true;
  }

  /** Removes all ended allocations (AG-213). */
  async collectAll(): Promise<void> {
    const ids = this.endedByAge();
    while (ids.length > 0) await this.removeAllocations(ids.splice(0, MAX_COLLECTING));
  }

  private async collectWhileFull(): Promise<void> {
    try {
      for (let ids = this.endedByAge(); ids.length > 0 && !this.isStopped; ids = this.endedByAge()) {
        const { wanted, because } = await this.countExcess();
        if (wanted === 0) return;
        this.deps.logger.info(`ended allocations are removed: ${because}`, { ended: ids.length });
        await this.removeAllocations(ids.slice(0, Math.min(wanted, MAX_COLLECTING)));
      }
    } catch (error) {
      this.deps.logger.error('ended allocations cannot be collected', { error });
    }
  }

  /**
   * Returns how many allocations should be removed. For the disk it is one at a time, because only the removal shows
   * how much space it frees.
   */
  private async countExcess(): Promise<{ wanted: number; because: string }> {
    const limits = this.deps.limits ?? KEEP_LIMITS;
    const { diskPercent, inodesPercent } = await this.deps.diskUse();
    const over = this.deps.allocations.size - limits.allocs;
    if (over > 0) return { wanted: over, because: `more than ${limits.allocs} allocations are here` };
    if (diskPercent > limits.diskPercent)
      return { wanted: 1, because: `${Math.round(diskPercent)} % of the disk is in use, above ${limits.diskPercent}` };
    if (inodesPercent > limits.inodesPercent)
      return {
        wanted: 1,
        because: `${Math.round(inodesPercent)} % of inodes are in use, above ${limits.inodesPercent}`,
      };
    return { wanted: 0, because: '' };
  }

  private endedByAge(): string[] {
    return this.deps.allocations
      .endedAllocations()
      .toSorted((a, b) => a.endedAtMs - b.endedAtMs)
      .map(({ id }) => id);
  }

  private async removeAllocations(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.deps.allocations.collect(id)));
  }
}
