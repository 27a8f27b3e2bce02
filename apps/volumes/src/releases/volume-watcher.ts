import { isClientTerminal, volumeSource, type Allocation } from '@waybill/model';
import { namespacedKey, volumeWithEndedClaims, type Applied, type Tables } from '@waybill/state';
import { VolumeWorker, type ReleaseCounters, type Releasing } from './volume-worker.js';

/** What a watcher is given for a term. */
export interface Watched extends Omit<Releasing, 'volumeOf' | 'isAlive' | 'counters'> {
  readonly tables: Tables;
}

/**
 * A worker for each volume that has changed lately (section 3.13).
 *
 * Modes: disabled ⇄ enabled. Enabling looks at all volumes once and begins with those that have something to free
 * (VL-136); disabling stops all workers before it returns, and what comes then is ignored (VL-135). Enabled, a change of
 * a volume starts its worker or wakes it, and nobody else's (VL-152); so does the end of an allocation whose machine
 * cannot give its claims back (VL-151).
 * Memory: one small object per volume that changed in the last minutes. Cost of `applied`: the rows that changed.
 */
export class VolumeWatcher {
  private readonly workers = new Map<string, VolumeWorker>();
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
    for (const [key] of tables.csi_volumes.entries())
      if (Object.keys(volumeOf(key)?.PastClaims ?? {}).length > 0) this.wake(key);
  }

  disable(): void {
    this.enabled = undefined;
    for (const worker of this.workers.values()) worker.stop();
    this.workers.clear();
  }

  applied({ changes }: Applied): void {
    if (!this.enabled) return;
    for (const change of changes) {
      if (change.table === 'csi_volumes') {
        if (change.after) this.wake(change.key);
        else this.workers.get(change.key)?.changed(); // finds it gone, and ends
      } else if (change.table === 'allocs') {
        const over = endedWithoutItsAgent(change.before, change.after);
        if (over) this.wakeVolumesOf(over, this.enabled.tables);
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
    worker.changed();
  }

  /** VL-144: by identity, the key may have a successor. */
  private forget(worker: VolumeWorker): void {
    if (this.workers.get(worker.key) === worker) this.workers.delete(worker.key);
  }

  private wakeVolumesOf(alloc: Allocation, tables: Tables): void {
    const group = alloc.Job?.TaskGroups.find(({ Name }) => Name === alloc.TaskGroup);
    for (const request of Object.values(group?.Volumes ?? {})) {
      if (request.Type !== 'csi') continue;
      const key = namespacedKey(alloc.Namespace, volumeSource(request, alloc.Name));
      const volume = tables.csi_volumes.get(key);
      const claims = [volume?.ReadClaims, volume?.WriteClaims, volume?.PastClaims];
      if (claims.some((of) => of !== undefined && Object.hasOwn(of, alloc.ID))) this.wake(key);
    }
  }
}

/** Lost, or deleted: its agent will not give its claims back. */
function endedWithoutItsAgent(before: Allocation | undefined, after: Allocation | undefined): Allocation | undefined {
  if (!after) return before;
  const isLost = isClientTerminal(after) && after.ClientStatus === 'lost';
  return isLost && before?.ClientStatus !== 'lost' ? after : undefined;
}
