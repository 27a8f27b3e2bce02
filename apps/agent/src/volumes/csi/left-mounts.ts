import { type Clock, type CSIVolumeClaimRequest, type Timers, Turns, errorText } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { retryWithBackoff } from './backoff.js';
import { type MountedVolume, useKey } from './volume-mounter.js';
import type { VolumeUses } from './volume-uses.js';

/** LeftMount is a mount whose allocation is gone from this machine, with all data for unmounting it. */
export interface LeftMount {
  readonly pluginId: string;
  readonly volume: MountedVolume;
  /** The claim that is reported to the servers after the unmount. */
  readonly claim: CSIVolumeClaimRequest;
}

/** LeftMountList stores the list. A file implements it (json-list.store.ts). */
export interface LeftMountList {
  load(): Promise<readonly LeftMount[]>;
  /** Saves the list. Resolves when it is durable. */
  save(all: readonly LeftMount[]): Promise<void>;
}

/** StillLeftError says that a disk cannot be mounted, because it is still mounted for an allocation that is gone. */
export class StillLeftError extends Error {
  override readonly name = 'StillLeftError';
  constructor({ volume }: LeftMount, cause: unknown) {
    const why = errorText(cause);
    super(
      `disk "${volume.externalId}" is still mounted here for allocation "${volume.allocId}", which is gone: ${why}`,
      {
        cause,
      },
    );
  }
}

export interface LeftMountsDependencies {
  readonly list: LeftMountList;
  readonly uses: VolumeUses;
  readonly unmount: (pluginId: string, volume: MountedVolume, signal: AbortSignal) => Promise<void>;
  readonly giveBack: (claim: CSIVolumeClaimRequest) => Promise<void>;
  /** Says whether an allocation with this id is here again. Then the claim is its own. */
  readonly isHere: (allocId: string) => boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * LeftMounts are mounts that could not be unmounted before their allocation was dropped (VL-232). The unmount is
 * retried until it succeeds, over restarts of the agent: the list is on disk before the allocation's own record is
 * removed. Until then a mount counts as a use of its disk, and the disk is not mounted for others. Cost: one timer and
 * one entry of the file per mount.
 */
export class LeftMounts {
  private readonly left = new Map<string, LeftMount>();
  private readonly turns = new Turns();
  private readonly closing = new AbortController();
  private saved: Promise<void> = Promise.resolve();

  constructor(private readonly deps: LeftMountsDependencies) {}

  /** Restores the list of an earlier agent. It is called before any volume is mounted or unmounted. */
  async restore(): Promise<void> {
    try {
      this.add(await this.deps.list.load());
    } catch (error) {
      this.deps.logger.error('the list of mounts that are left cannot be read: they have to be unmounted by hand', {
        error,
      });
    }
  }

  /** Adds mounts. Resolves when they are on disk. */
  async takeMounts(mounts: readonly LeftMount[]): Promise<void> {
    if (mounts.length === 0) return;
    this.add(mounts);
    await this.save();
  }

  /** Unmounts left mounts that conflict with a mount that is to be made. @throws StillLeftError */
  async clear(pluginId: string, wanted: MountedVolume): Promise<void> {
    for (const [key, one] of this.left) {
      const isSamePlace = key === keyOf({ pluginId, volume: wanted });
      if (!isSamePlace && (one.pluginId !== pluginId || !excludes(one.volume, wanted))) continue;
      await this.undoMount(key).catch((error: unknown) => {
        throw new StillLeftError(one, error);
      });
    }
  }

  /** Closes the list at the end of the agent. The next agent continues. */
  close(): void {
    this.closing.abort();
  }

  private add(mounts: readonly LeftMount[]): void {
    for (const one of mounts) {
      const key = keyOf(one);
      this.deps.uses.add(useKey(one.volume), one.volume.allocId, one.volume.externalId);
      this.left.set(key, one);
      void this.undoLater(key, one);
    }
  }

  private async undoLater(key: string, { volume }: LeftMount): Promise<void> {
    const { clock, timers, logger } = this.deps;
    const about = { alloc: volume.allocId, volume: volume.volumeId };
    logger.warn('a volume is still mounted for an allocation that is gone; unmounting it until that succeeds', about);
    const retries = { clock, timers, signal: this.closing.signal, patienceMs: Infinity };
    await retryWithBackoff(
      () => this.undoMount(key),
      () => true,
      retries,
    ).then(
      () => logger.info('nothing is left mounted for an allocation that is gone', about),
      () => undefined, // the agent ends
    );
  }

  /** Unmounts one mount, one attempt at a time. It does nothing for a mount that is gone by now. */
  private undoMount(key: string): Promise<void> {
    return this.turns.runInTurn(key, async () => {
      const one = this.left.get(key);
      if (!one) return;
      await this.deps.unmount(one.pluginId, one.volume, this.closing.signal);
      this.left.delete(key);
      await this.save();
      if (!this.deps.isHere(one.volume.allocId)) await this.unpublishVolume(one);
    });
  }

  /** Unpublishes a volume. The servers' watcher takes over a failure; the volume may not exist any more (VL-230). */
  private async unpublishVolume({ claim }: LeftMount): Promise<void> {
    await this.deps.giveBack(claim).catch((error: unknown) => {
      const about = { alloc: claim.AllocationID, volume: claim.VolumeID };
      this.deps.logger.warn('a volume could not be given back', { ...about, error });
    });
  }

  private async save(): Promise<void> {
    this.saved = this.saved.then(() =>
      this.deps.list.save([...this.left.values()]).catch((error: unknown) => {
        this.deps.logger.error(
          'the list of mounts that are left cannot be written: a restart of the agent forgets them',
          {
            error,
          },
        );
      }),
    );
    await this.saved;
  }
}

/** Says whether two uses of one disk exclude each other. */
const excludes = (a: MountedVolume, b: MountedVolume): boolean =>
  a.externalId === b.externalId && !(isShared(a) && isShared(b));

const isShared = ({ usage }: MountedVolume): boolean => usage.ReadOnly || usage.AccessMode.endsWith('-multi-writer');

const keyOf = ({ pluginId, volume }: Pick<LeftMount, 'pluginId' | 'volume'>): string =>
  JSON.stringify([pluginId, volume.allocId, useKey(volume)]);
