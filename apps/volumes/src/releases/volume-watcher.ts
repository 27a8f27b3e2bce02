import { eachApart } from '@waybill/roles';
import { type Allocation, type CancelTimer, isClientTerminal, volumeSource } from '@waybill/model';
import { namespacedKey, volumeWithEndedClaims, type Applied, type Tables } from '@waybill/state';
import { VolumeWorker, type ReleaseCounters, type Releasing } from './volume-worker.js';

/** How long the agent of an ended allocation has to release its claims itself, milliseconds (VL-151). */
export const AGENTS_TURN_MS = 60_000;

/** Dependencies of a watcher for one term. */
export interface Watched extends Omit<Releasing, 'volumeOf' | 'isAlive' | 'counters'> {
  readonly tables: Tables;
}

/**
 * Releases the claims of ended allocations, with one worker for each volume that has changed recently (section 3.13).
 *
 * Modes: disabled ⇄ enabled. Enabling checks all volumes once and starts workers for those that have claims to free
 * (VL-136). Disabling stops all workers before it returns, and later changes are ignored (VL-135). While enabled, a
 * change of a volume starts or wakes only its own worker (VL-152). So does the end of an allocation whose machine
 * cannot release its claims, and after AGENTS_TURN_MS the end of one whose agent has not released them (VL-151).
 * Memory: one small object for each volume that changed in the last minutes, one timer for each volume whose allocation
 * ended in the last minute. Cost of `applied`: O(rows that changed).
 */
export class VolumeWatcher {
  private readonly workers = new Map<string, VolumeWorker>();
  private readonly looks = new Map<string, CancelTimer>();
  private enabled: (Watched & { readonly releasing: Releasing }) | undefined;
  private readonly counters: ReleaseCounters & { started: number } = {
    passes: 0,
    unpublishes: 0,
    failures: 0,
    started: 0,
  };

  enable(watched: Watched): void {
    const { tables } = watched;
    const volumeOf = (key: string) => {
      const volume = tables.csi_volumes.get(key);
      return volume && volumeWithEndedClaims(tables, volume.Namespace, volume.ID);
    };
    const isAlive = (allocId: string): boolean => {
      const alloc = tables.allocs.get(allocId);
      return alloc !== undefined && !isClientTerminal(alloc);
    };
    this.enabled = { ...watched, releasing: { ...watched, volumeOf, isAlive, counters: this.counters } };
    eachApart(
      tables.csi_volumes.entries(),
      ([key]) => `volume ${key}`,
      watched.logger,
      ([key]) => {
        if (Object.keys(volumeOf(key)?.PastClaims ?? {}).length > 0) this.wake(key);
      },
    );
  }

  disable(): void {
    this.enabled = undefined;
    for (const worker of this.workers.values()) worker.stop();
    this.workers.clear();
    for (const cancel of this.looks.values()) cancel();
    this.looks.clear();
  }

  applied({ changes }: Applied): void {
    if (!this.enabled) return;
    const { tables } = this.enabled;
    for (const change of changes) {
      if (change.table === 'csi_volumes') {
        if (change.after) this.wake(change.key);
        else this.workers.get(change.key)?.requestPass(); // the worker finds the volume deleted and ends
      } else if (change.table === 'allocs') {
        const lost = endedWithoutItsAgent(change.before, change.after);
        if (lost) for (const key of claimedBy(lost, tables)) this.wake(key);
        const ended = lost ? undefined : endedByItself(change.before, change.after);
        if (ended) for (const key of claimedBy(ended, tables)) this.lookLater(key);
      }
    }
  }

  stats(): Record<string, number> {
    return { workers: this.workers.size, ...this.counters };
  }

  private wake(key: string): void {
    if (!this.enabled) return;
    let worker = this.workers.get(key);
    if (!worker) {
      worker = new VolumeWorker(key, this.enabled.releasing, (ended) => this.forget(ended));
      this.workers.set(key, worker);
      this.counters.started++;
    }
    worker.requestPass();
  }

  /** Forgets the worker itself, not the key, which may have a new worker (VL-144). */
  private forget(worker: VolumeWorker): void {
    if (this.workers.get(worker.key) === worker) this.workers.delete(worker.key);
  }

  /**
   * Checks the volume later: its agent's request may have been lost, or may never come. A release that has begun has
   * woken the worker already.
   */
  private lookLater(key: string): void {
    if (!this.enabled || this.looks.has(key)) return;
    const { timers, tables, releasing } = this.enabled;
    const look = (): void => {
      this.looks.delete(key);
      if (releasing.volumeOf(key) !== tables.csi_volumes.get(key)) this.wake(key);
    };
    this.looks.set(key, timers.after(AGENTS_TURN_MS, look));
  }
}

/** The volumes that an allocation claims, or is releasing. */
function claimedBy(alloc: Allocation, tables: Tables): string[] {
  const group = alloc.Job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
  const requests = Object.values(group?.Volumes ?? {}).filter(({ Type }) => Type === 'csi');
  const keys = requests.map((request) => namespacedKey(alloc.Namespace, volumeSource(request, alloc.Name)));
  return keys.filter((key) => {
    const volume = tables.csi_volumes.get(key);
    const claims = [volume?.ReadClaims, volume?.WriteClaims, volume?.PastClaims];
    return claims.some((of) => of !== undefined && Object.hasOwn(of, alloc.ID));
  });
}

/** The allocation, if its agent reported that it ended. */
function endedByItself(before: Allocation | undefined, after: Allocation | undefined): Allocation | undefined {
  const hasEnded = after !== undefined && isClientTerminal(after) && !(before && isClientTerminal(before));
  return hasEnded ? after : undefined;
}

/** The allocation, if it was lost or deleted, so that its agent will not release its claims. */
function endedWithoutItsAgent(before: Allocation | undefined, after: Allocation | undefined): Allocation | undefined {
  if (!after) return before;
  const isLost = isClientTerminal(after) && after.ClientStatus === 'lost';
  return isLost && before?.ClientStatus !== 'lost' ? after : undefined;
}
