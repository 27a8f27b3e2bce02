import path from 'node:path';
import type { StageVolume, VolumeUse } from '@waybill/csi';
import { type MountOptions, type NodeEvent, errorText } from '@waybill/model';
import type { Turns } from '@waybill/model';
import type { LocalNodePlugin } from './local-plugins.js';
import type { MountPlaces } from './mount-places.store.js';
import { stagingPath, targetPath, type UsedVolume } from './volume-paths.js';
import type { VolumeUses } from './volume-uses.js';
import { belowAsText } from '../../paths/path-name.js';

/** VolumeMount is a volume for one allocation, with the plugin's input. */
export interface VolumeMount extends UsedVolume {
  readonly allocId: string;
  /** The provider's id of the volume. */
  readonly externalId: string;
  readonly options: MountOptions;
  readonly secrets: Readonly<Record<string, string>>;
  readonly context: Readonly<Record<string, string>>;
  readonly publishContext: Readonly<Record<string, string>>;
}

/** MountedVolume is the part that an unmount needs. */
export type MountedVolume = Pick<VolumeMount, 'allocId' | 'externalId' | 'namespace' | 'volumeId' | 'usage'>;

/** MountInfo says where a volume is for the tasks of an allocation. */
export interface MountInfo {
  /** The path on this machine. */
  readonly Source: string;
  readonly IsDevice: boolean;
}

/**
 * StillMountedError says that the plugin reported an unmount that has not happened (VL-310). Another attempt may
 * succeed.
 */
export class StillMountedError extends Error {
  override readonly name = 'StillMountedError';
  constructor(place: string) {
    super(`the plugin says that it has unmounted the volume, but it is still mounted at ${place}`);
  }
}

/**
 * OtherDiskError says that the volume's staging path still holds another disk. The other allocation has to unmount it
 * first (VL-311).
 */
export class OtherDiskError extends Error {
  override readonly name = 'OtherDiskError';
  constructor(volumeId: string, disk: string, allocId: string) {
    super(`volume "${volumeId}" is still another disk here: allocation "${allocId}" has "${disk}" mounted as it`);
  }
}

export interface VolumeMounterDependencies {
  readonly places: MountPlaces;
  readonly uses: VolumeUses;
  /** The turns of all operations on volumes of this machine, by namespace and volume (VL-243). */
  readonly turns: Turns;
  readonly emit: (event: Pick<NodeEvent, 'Subsystem' | 'Message' | 'Details'>) => void;
}

/**
 * VolumeMounter mounts and unmounts volumes through their node plugin (volumes.md 3.25). Its only state is the counts
 * of use. It checks the machine for completed steps, so every operation may be repeated. One operation at a time per
 * volume; volumes do not wait for each other.
 */
export class VolumeMounter {
  constructor(private readonly deps: VolumeMounterDependencies) {}

  /** Mounts a volume. @throws UnsafeNameError before it makes anything; OtherDiskError, CsiError, CsiArgumentError */
  async mount(plugin: LocalNodePlugin, volume: VolumeMount, signal: AbortSignal): Promise<MountInfo> {
    const at = placesOf(plugin, volume);
    // The use is added before the turn, so that an unmount meanwhile leaves the volume staged.
    this.deps.uses.add(useKey(volume), volume.allocId, volume.externalId);
    return this.runForVolume('Mount volume', volume, async () => {
      try {
        if (plugin.machine.RequiresNodeStageVolume) this.refuseOtherDisk(volume);
        await this.stageAndPublish(plugin, volume, at, signal);
      } catch (error) {
        this.deps.uses.remove(useKey(volume), volume.allocId);
        throw error;
      }
      return { Source: at.target.here, IsDevice: volume.usage.AttachmentMode === 'block-device' };
    });
  }

  /**
   * Unmounts a volume. It does nothing for one that is not mounted.
   * @throws UnsafeNameError, StillMountedError, CsiError, or an error that combines those of the plugin and of a file
   */
  async unmount(plugin: LocalNodePlugin, volume: MountedVolume, signal: AbortSignal): Promise<void> {
    const at = placesOf(plugin, volume);
    await this.runForVolume('Unmount volume', volume, async () => {
      await this.unpublish(plugin, volume, at, signal);
      this.deps.uses.remove(useKey(volume), volume.allocId);
      if (!plugin.machine.RequiresNodeStageVolume || this.deps.uses.isUsed(useKey(volume))) return;
      await plugin.node.unstage(volume.externalId, at.staging.inPlugin, { signal });
      await this.refuseIfMounted(at.staging);
      await this.deps.places.removeEmpty(at.staging.here, plugin.mountRoot);
    });
  }

  /**
   * Expands a volume on this node (VL-247). It does not call a plugin that lacks the capability (CW-21).
   * @returns bytes; 0 if unknown
   */
  expand(
    plugin: LocalNodePlugin,
    volume: Omit<VolumeMount, 'context' | 'publishContext'>,
    capacity: { readonly requiredBytes: bigint; readonly limitBytes: bigint },
  ): Promise<bigint> {
    const at = placesOf(plugin, volume);
    if (!plugin.machine.SupportsExpand) return Promise.resolve(0n);
    return this.deps.turns.runInTurn(turnKey(volume), () =>
      plugin.node.expand({
        volumeId: volume.externalId,
        volumePath: at.target.inPlugin,
        stagingPath: plugin.machine.RequiresNodeStageVolume ? at.staging.inPlugin : '',
        use: useOf(volume),
        capacity,
        secrets: volume.secrets,
      }),
    );
  }

  private async stageAndPublish(
    { node, machine }: LocalNodePlugin,
    volume: VolumeMount,
    { staging, target }: Places,
    signal: AbortSignal,
  ): Promise<void> {
    const { places } = this.deps;
    const stagingHere = machine.RequiresNodeStageVolume ? staging.inPlugin : '';
    const mounted: StageVolume = {
      volumeId: volume.externalId,
      use: useOf(volume),
      publishContext: volume.publishContext,
      volumeContext: volume.context,
      secrets: volume.secrets,
      stagingPath: stagingHere,
    };
    if (machine.RequiresNodeStageVolume) {
      await places.make(staging.here);
      if (!(await places.isMounted(staging.here))) await node.stage(mounted, { signal });
    }
    await places.make(path.dirname(target.here));
    if (await places.isMounted(target.here)) return;
    const { ReadOnly: readonly } = volume.usage;
    await node.publish({ ...mounted, targetPath: target.inPlugin, readonly }, { signal });
  }

  /** Unpublishes a volume. A plugin's error counts as success if the target is gone or can be removed (VL-244). */
  private async unpublish(
    { node, mountRoot }: LocalNodePlugin,
    { externalId }: MountedVolume,
    { target }: Places,
    signal: AbortSignal,
  ): Promise<void> {
    const { places } = this.deps;
    try {
      await node.unpublish(externalId, target.inPlugin, { signal });
    } catch (error) {
      if (signal.aborted) throw error;
      const isGone = !(await places.exists(target.here));
      if (!(isGone && errorText(error).includes('no mount point'))) await removedOr(error, places.remove(target.here));
    }
    await this.refuseIfMounted(target);
    await places.removeEmpty(path.dirname(target.here), mountRoot);
  }

  /** Refuses a staging path that holds the disk which had the volume's name before (VL-311). @throws OtherDiskError */
  private refuseOtherDisk(volume: VolumeMount): void {
    const other = this.deps.uses.otherDisk(useKey(volume), volume.externalId);
    if (other) throw new OtherDiskError(volume.volumeId, other.disk, other.allocId);
  }

  /** Refuses a path that is still mounted, whatever the plugin has reported (VL-310). @throws StillMountedError */
  private async refuseIfMounted({ here }: Place): Promise<void> {
    if (await this.deps.places.isMounted(here)) throw new StillMountedError(here);
  }

  /** Runs one operation at a time for each volume, and emits a node event with its outcome (VL-243, VL-245). */
  private async runForVolume<T>(message: string, volume: MountedVolume, work: () => Promise<T>): Promise<T> {
    const Details = { volume_id: volume.volumeId };
    const event = { Subsystem: 'Storage', Message: message } as const;
    try {
      const done = await this.deps.turns.runInTurn(turnKey(volume), work);
      this.deps.emit({ ...event, Details: { ...Details, success: 'true' } });
      return done;
    } catch (error) {
      this.deps.emit({ ...event, Details: { ...Details, success: 'false', error: errorText(error) } });
      throw error;
    }
  }
}

/**
 * Returns the key under which uses of a volume are counted. It contains exactly what its staging path depends on
 * (VL-242).
 */
export const useKey = (volume: UsedVolume): string => stagingPath(volume);

/** Returns the mount options of a volume. The job's options take precedence over the volume's own (VL-239). */
export function mountOptions(of: MountOptions | null, wanted: MountOptions | null): MountOptions {
  return { FSType: wanted?.FSType || of?.FSType || '', MountFlags: wanted?.MountFlags ?? of?.MountFlags ?? null };
}

interface Place {
  readonly here: string;
  readonly inPlugin: string;
}
interface Places {
  readonly staging: Place;
  readonly target: Place;
}

function placesOf(
  { mountRoot, pluginRoot }: LocalNodePlugin,
  volume: UsedVolume & { readonly allocId: string },
): Places {
  const placeAt = (place: string): Place => ({
    here: belowAsText(mountRoot, place),
    inPlugin: belowAsText(pluginRoot, place),
  });
  return { staging: placeAt(stagingPath(volume)), target: placeAt(targetPath(volume, volume.allocId)) };
}

function useOf({ usage, options }: Pick<VolumeMount, 'usage' | 'options'>): VolumeUse {
  return {
    attachmentMode: usage.AttachmentMode,
    accessMode: usage.AccessMode,
    fsType: options.FSType,
    mountFlags: options.MountFlags ?? [],
  };
}

const turnKey = ({ namespace, volumeId }: UsedVolume): string => JSON.stringify([namespace, volumeId]);

async function removedOr(error: unknown, removal: Promise<void>): Promise<void> {
  await removal.catch((fileError: unknown) => {
    throw new Error(`${errorText(error)}; ${errorText(fileError)}`, { cause: error });
  });
}
