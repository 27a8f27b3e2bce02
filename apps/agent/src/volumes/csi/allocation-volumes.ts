import {
  type Allocation,
  CLAIM_MODE,
  CLAIM_STATE,
  type ClaimState,
  type Clock,
  type CSIVolumeClaimRequest,
  nsFromMs,
  remoteIdOf,
  type Timers,
  type VolumeRequest,
  volumeSource,
  errorText,
} from '@waybill/model';
import type { ClaimVolumeResponse } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { retryWithBackoff } from './backoff.js';
import type { LeftMount } from './left-mounts.js';
import type { LocalNodePlugin } from './local-plugins.js';
import { isPassing, type VolumeClaims } from './volume-claims.js';
import { type MountInfo, mountOptions, type MountedVolume, useKey, type VolumeMount } from './volume-mounter.js';
import type { VolumeUses } from './volume-uses.js';
import { unlessAborted } from '../../waiting/unless-aborted.js';

/**
 * AllocationVolumeRecord is the state of a volume on disk (2.8). With an empty `Source`, the volume is claimed but not
 * mounted.
 */
export interface AllocationVolumeRecord {
  readonly VolumeID: string;
  readonly VolumeNamespace: string;
  readonly VolumeExternalID: string;
  readonly PluginID: string;
  readonly ExternalNodeID: string;
  readonly MountInfo: MountInfo;
}
/** The records by the alias that the group gives the volume. */
export type AllocationVolumesRecord = Readonly<Record<string, AllocationVolumeRecord>>;

/** VolumesError says that the allocation cannot have its volumes (VL-220, VL-221). */
export class VolumesError extends Error {
  override readonly name = 'VolumesError';
}

export interface AllocationVolumesDependencies {
  readonly region: string;
  readonly claims: VolumeClaims;
  readonly uses: VolumeUses;
  readonly isMounted: (place: string) => Promise<boolean>;
  /** @throws PluginNotReadyError */
  readonly pluginReady: (pluginId: string, signal: AbortSignal) => Promise<LocalNodePlugin>;
  readonly plugin: (pluginId: string) => LocalNodePlugin | undefined;
  readonly mount: (plugin: LocalNodePlugin, volume: VolumeMount, signal: AbortSignal) => Promise<MountInfo>;
  readonly unmount: (pluginId: string, volume: MountedVolume, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

const NOT_MOUNTED: MountInfo = { Source: '', IsDevice: false };

/**
 * AllocationVolumes are the CSI volumes of one allocation (volumes.md 3.24).
 *
 * States: new → preparing → ready → releasing → released; it may be closed at any time. preparing has three phases,
 * each for all volumes before the next: mounts of an earlier agent are checked, other volumes are claimed, then
 * mounted. After a failure, release follows as in every case. releasing: each volume is separately unmounted and
 * unpublished. If the unmount fails, the volume is unpublished all the same, and the unmount is retried in the
 * background until it succeeds. closed: every wait ends, and the caller that drops the allocation hands over the
 * remaining mounts. The state of a volume is on disk before its next step. Cost: one entry per volume.
 */
export class AllocationVolumes {
  private readonly known = new Map<string, AllocationVolumeRecord>();
  private readonly claimed = new Map<string, ClaimVolumeResponse>();
  private readonly closing = new AbortController();
  /**
   * Aborts a preparation, because the volumes are being released or closed. It is not an `AbortSignal.any`, because
   * such a signal with listeners stays in memory as long as the process, with all that its listeners refer to.
   */
  private readonly unwanting = new AbortController();
  private preparing: Promise<void> | undefined;
  private isReleased = false;

  constructor(
    private readonly alloc: Pick<Allocation, 'ID' | 'Name' | 'Namespace' | 'NodeID'>,
    /** The requests of type csi, by alias. */
    private readonly requests: Readonly<Record<string, VolumeRequest>>,
    private readonly deps: AllocationVolumesDependencies,
    /** Saves the current record. Resolves when it is on disk. */
    private readonly save: () => Promise<void>,
  ) {}

  /** Restores the record of an earlier agent. It is called before any allocation's volumes are unmounted (VL-242). */
  restore(record: AllocationVolumesRecord): void {
    for (const [alias, volume] of Object.entries(record)) {
      this.known.set(alias, volume);
      // This includes volumes that were only claimed, because the mount may have been in progress.
      if (this.requests[alias])
        this.deps.uses.add(useKey(this.usedVolume(alias)), this.alloc.ID, volume.VolumeExternalID);
    }
  }

  record(): AllocationVolumesRecord {
    return Object.fromEntries(this.known);
  }

  /** Returns the mount for the tasks, or undefined if the volume is not mounted. */
  mountOf(alias: string): MountInfo | undefined {
    const info = this.known.get(alias)?.MountInfo;
    return info?.Source ? info : undefined;
  }

  /**
   * Prepares the volumes.
   * @param canMount whether a driver of one of its tasks supports mounts
   * @param waitsFor is called before each step that may take long
   * @throws VolumesError
   */
  prepare(canMount: boolean, waitsFor: (what: string) => void = () => {}): Promise<void> {
    this.preparing = this.prepareInPhases(canMount, waitsFor);
    return this.preparing;
  }

  /**
   * Unmounts and unpublishes all volumes, however the allocation ends (VL-228). Never fails. Resolves after one attempt
   * for each volume.
   */
  async release(): Promise<void> {
    this.isReleased = true;
    this.unwanting.abort();
    await this.preparing?.catch(() => undefined); // the caller of `prepare` got the error
    if (!this.preparing && this.known.size === 0) return; // an earlier agent has released all volumes
    await Promise.all(Object.keys(this.requests).map((alias) => this.releaseOne(alias)));
  }

  /** Says whether its tasks may use the volumes. Only the allocation itself may unmount them then (VL-69, VL-246). */
  get areInUse(): boolean {
    return !this.isReleased;
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  /**
   * Returns the volumes that are not known to be unmounted. The caller continues with them when the allocation is
   * dropped.
   */
  remainingMounts(): LeftMount[] {
    return [...this.known].flatMap(([alias, { PluginID: pluginId }]) => {
      if (!this.requests[alias]) return [];
      const { usage, ...volume } = this.mountedVolume(alias);
      const { ReadOnly, AttachmentMode, AccessMode } = usage;
      const claim = this.claimRequest(alias, CLAIM_STATE.nodeDetached);
      return [{ pluginId, volume: { ...volume, usage: { ReadOnly, AttachmentMode, AccessMode } }, claim }];
    });
  }

  /**
   * Cancels all waits, so that a hanging plugin delays neither the end of the allocation nor that of the agent
   * (VL-231).
   */
  close(): void {
    this.closing.abort();
    this.unwanting.abort();
  }

  private async prepareInPhases(canMount: boolean, waitsFor: (what: string) => void): Promise<void> {
    const aliases = Object.keys(this.requests).toSorted();
    if (!canMount) throw new VolumesError('no task supports CSI');
    const phase = async (what: string, work: (alias: string) => Promise<void>): Promise<void> => {
      for (const alias of aliases) {
        await work(alias).catch((error: unknown) => {
          throw new VolumesError(`${what}: ${errorText(error)}`, { cause: error });
        });
      }
    };
    await phase('restoring mounts', (alias) => this.checkMount(alias, waitsFor));
    await phase('claiming volumes', (alias) => this.claim(alias, waitsFor));
    await phase('mounting volumes', (alias) => this.mount(alias, waitsFor));
  }

  /** Keeps a mount that still exists after a restart of the agent; a lost one is made again (VL-222). */
  private async checkMount(alias: string, waitsFor: (what: string) => void): Promise<void> {
    const known = this.known.get(alias);
    if (!known?.MountInfo.Source) return;
    waitsFor(`storage plugin ${known.PluginID}`);
    await this.deps.pluginReady(known.PluginID, this.unwanting.signal);
    if (await this.deps.isMounted(known.MountInfo.Source)) return;
    this.deps.uses.remove(useKey(this.usedVolume(alias)), this.alloc.ID);
    this.known.set(alias, { ...known, MountInfo: NOT_MOUNTED });
  }

  private async claim(alias: string, waitsFor: (what: string) => void): Promise<void> {
    if (this.mountOf(alias)) return;
    const { claims, clock, timers } = this.deps;
    const volume = `volume ${this.usedVolume(alias).volumeId}`;
    const onRetry = (error: unknown): void => waitsFor(`${volume}: ${errorText(error)}`);
    const retries = { clock, timers, signal: this.unwanting.signal, onRetry };
    waitsFor(volume);
    const asked = () =>
      unlessAborted(claims.claim(this.claimRequest(alias, CLAIM_STATE.taken)), this.unwanting.signal, abandonedClaim);
    const answer = await retryWithBackoff(asked, isPassing, retries).catch((error: unknown) => {
      throw new VolumesError(`could not claim ${volume}: ${errorText(error)}`, { cause: error });
    });
    this.claimed.set(alias, answer);
    const { Volume } = answer;
    this.known.set(alias, {
      VolumeID: Volume.ID,
      VolumeNamespace: Volume.Namespace,
      VolumeExternalID: remoteIdOf(Volume),
      PluginID: Volume.PluginID,
      ExternalNodeID: this.deps.plugin(Volume.PluginID)?.machine.ID ?? '',
      MountInfo: NOT_MOUNTED,
    });
    await this.save();
  }

  /** Waits for the node plugin of the claimed volume, then stages and publishes the volume (VL-224). */
  private async mount(alias: string, waitsFor: (what: string) => void): Promise<void> {
    const claimed = this.claimed.get(alias);
    const known = this.known.get(alias);
    const request = this.requests[alias];
    if (!claimed || !known || !request) return;
    waitsFor(`storage plugin ${known.PluginID}`);
    const plugin = await this.deps.pluginReady(known.PluginID, this.unwanting.signal);
    waitsFor(`storage plugin ${known.PluginID} to mount volume ${known.VolumeID}`);
    const { Volume, PublishContext } = claimed;
    const volume: VolumeMount = {
      ...this.mountedVolume(alias),
      options: mountOptions(Volume.MountOptions, request.MountOptions),
      secrets: Volume.Secrets ?? {},
      context: Volume.Context ?? {},
      publishContext: PublishContext,
    };
    const MountInfo = await this.deps.mount(plugin, volume, this.unwanting.signal);
    this.known.set(alias, { ...known, ExternalNodeID: plugin.machine.ID, MountInfo });
    this.claimed.delete(alias); // the secrets in the answer are no longer needed
    await this.save();
  }

  private async releaseOne(alias: string): Promise<void> {
    const isDone = await this.tryUnmount(alias);
    // A volume that was never claimed was never mounted (VL-232).
    const isUnmounted = isDone || !this.known.has(alias);
    await this.unpublishVolume(alias, isUnmounted);
    if (isUnmounted) await this.removeVolume(alias);
    else void this.unmountLater(alias);
  }

  /** Retries a failed unmount in the background, and unpublishes the volume once it has succeeded (VL-232). */
  private async unmountLater(alias: string): Promise<void> {
    const { clock, timers, logger } = this.deps;
    const retries = { clock, timers, signal: this.closing.signal, patienceMs: Infinity };
    try {
      await retryWithBackoff(
        () => this.unmount(alias),
        () => true,
        retries,
      );
    } catch (error) {
      // The storage was closed. The next agent or the list of left mounts continues.
      const about = { alloc: this.alloc.ID, volume: this.usedVolume(alias).volumeId };
      logger.warn('a volume is left mounted for now', { ...about, error });
      return;
    }
    await this.unpublishVolume(alias, true);
    await this.removeVolume(alias);
  }

  private async tryUnmount(alias: string): Promise<boolean> {
    try {
      await this.unmount(alias);
      return true;
    } catch (error) {
      if (this.known.has(alias))
        this.deps.logger.warn('a volume could not be unmounted; trying on', {
          alloc: this.alloc.ID,
          volume: this.usedVolume(alias).volumeId,
          error,
        });
      return false;
    }
  }

  private unmount(alias: string): Promise<void> {
    return this.deps.unmount(this.known.get(alias)?.PluginID ?? '', this.mountedVolume(alias), this.closing.signal);
  }

  /** Unpublishes a volume. The servers' watcher takes over a failure (VL-230). */
  private async unpublishVolume(alias: string, isUnmounted: boolean): Promise<void> {
    const state = isUnmounted ? CLAIM_STATE.nodeDetached : CLAIM_STATE.unpublishing;
    await this.deps.claims.unpublish(this.claimRequest(alias, state)).catch((error: unknown) => {
      const { volumeId } = this.usedVolume(alias);
      this.deps.logger.warn('a volume could not be given back', { alloc: this.alloc.ID, volume: volumeId, error });
    });
  }

  private async removeVolume(alias: string): Promise<void> {
    this.known.delete(alias);
    this.claimed.delete(alias);
    await this.save();
  }

  /** Returns the claim for the job's volume request: source, access, attachment and namespace (VL-223). */
  private claimRequest(alias: string, State: ClaimState): CSIVolumeClaimRequest {
    const { usage, volumeId, namespace } = this.usedVolume(alias);
    return {
      VolumeID: volumeId,
      AllocationID: this.alloc.ID,
      NodeID: this.alloc.NodeID,
      ExternalNodeID: this.known.get(alias)?.ExternalNodeID ?? '',
      Claim: usage.ReadOnly ? CLAIM_MODE.read : CLAIM_MODE.write,
      AccessMode: usage.AccessMode,
      AttachmentMode: usage.AttachmentMode,
      State,
      Timestamp: nsFromMs(this.deps.clock.nowMs()),
      Namespace: namespace,
      Region: this.deps.region,
    };
  }

  private mountedVolume(alias: string): MountedVolume {
    const used = this.usedVolume(alias);
    return { ...used, allocId: this.alloc.ID, externalId: this.known.get(alias)?.VolumeExternalID ?? used.volumeId };
  }

  private usedVolume(alias: string): { namespace: string; volumeId: string; usage: VolumeRequest } {
    const request = this.requests[alias];
    if (!request) throw new VolumesError(`the group has no volume "${alias}"`);
    return { namespace: this.alloc.Namespace, volumeId: volumeSource(request, this.alloc.Name), usage: request };
  }
}

const abandonedClaim = (): Error => new VolumesError('nobody waits for it any more');
