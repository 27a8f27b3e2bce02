import { type CsiPlugin, PluginClient } from '@waybill/csi';
import {
  type Allocation,
  type Clock,
  type CSIPluginConfig,
  type Timers,
  Turns,
  type VolumeRequest,
} from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { LocalEvent, LocalNode } from '../../machine/node/local-node.js';
import { AllocationVolumes } from './allocation-volumes.js';
import { type LeftMountList, LeftMounts } from './left-mounts.js';
import { LocalPlugins, NoSuchPluginError } from './local-plugins.js';
import type { MountPlaces } from './mount-places.store.js';
import { PluginRegistry, type PluginRegistrations } from './plugin-registry.js';
import { PluginSupervisor, type PluginSupervisorDependencies } from './plugin-supervisor.js';
import type { VolumeClaims } from './volume-claims.js';
import { type MountedVolume, type MountInfo, VolumeMounter } from './volume-mounter.js';
import { pluginDirectories, SOCKET_NAME } from './volume-paths.js';
import { VolumeUses } from './volume-uses.js';
import { below } from '../../paths/path-name.js';

export interface CsiHostDependencies {
  /** The directory that contains those of plugins and volumes. */
  readonly csiDir: string;
  readonly region: string;
  readonly registrations: PluginRegistrations;
  /** The list of mounts of allocations that are gone. */
  readonly leftMounts: LeftMountList;
  readonly places: MountPlaces;
  readonly claims: VolumeClaims;
  readonly node: LocalNode;
  readonly emit: (event: LocalEvent) => void;
  /** Connects to a plugin; the default is over its socket. */
  readonly connect?: (socketPath: string) => CsiPlugin;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** PluginPlaces are the paths that a plugin's task shares with the agent. */
export interface PluginPlaces {
  readonly socketPath: string;
  readonly mountRoot: string;
}

/**
 * CsiHost is this machine's part in CSI volumes: the plugins that run here, and the volumes of its allocations. It
 * assembles the parts, and finds an allocation's volumes for its tasks. There is one per agent.
 */
export class CsiHost {
  readonly plugins: LocalPlugins;
  readonly mounter: VolumeMounter;
  private readonly registry: PluginRegistry;
  private readonly uses = new VolumeUses();
  private readonly left: LeftMounts;
  private readonly connect: (socketPath: string) => CsiPlugin;
  private readonly volumes = new Map<string, AllocationVolumes>();
  private readonly supervisors = new Set<PluginSupervisor>();

  constructor(private readonly deps: CsiHostDependencies) {
    const { clock, timers, logger, emit, places } = deps;
    this.connect = deps.connect ?? ((socketPath) => new PluginClient(socketPath));
    this.registry = new PluginRegistry(deps.registrations, logger);
    this.plugins = new LocalPlugins({
      registry: this.registry,
      connect: this.connect,
      clock,
      timers,
      report: (side, info) => {
        const event = deps.node.plugin(side, info);
        if (event) emit(event);
      },
    });
    this.mounter = new VolumeMounter({ places, uses: this.uses, turns: new Turns(), emit });
    this.left = new LeftMounts({
      list: deps.leftMounts,
      uses: this.uses,
      unmount: (id, volume, signal) => this.unmount(id, volume, signal),
      giveBack: (claim) => deps.claims.unpublish(claim),
      isHere: (allocId) => this.volumes.has(allocId),
      clock,
      timers,
      logger,
    });
  }

  async start(): Promise<void> {
    await this.registry.restore();
    await this.left.restore();
    this.plugins.start();
  }

  /** Closes everything at the end of the agent. Mounts and plugins continue without it. */
  stop(): void {
    this.plugins.stop();
    for (const supervisor of this.supervisors) supervisor.close();
    for (const volumes of this.volumes.values()) volumes.close();
    this.left.close();
  }

  /** The paths of an allocation's plugin. A registered plugin keeps its socket path (VL-206). @throws UnsafeNameError */
  placesOf(allocId: string, config: CSIPluginConfig): PluginPlaces {
    const { mountRoot, socketDir } = pluginDirectories(this.deps.csiDir, config, allocId);
    const registered = this.registry.ofAlloc(allocId)?.socketPath;
    return { mountRoot, socketPath: registered ?? below(socketDir, SOCKET_NAME) };
  }

  /** Makes the supervisor of a plugin. @throws UnsafeNameError, SocketPathTooLongError */
  supervisor(
    allocId: string,
    config: CSIPluginConfig,
    /** Whether the plugin sees the files of this machine instead of its own view. */
    seesMachine: boolean,
    task: Pick<PluginSupervisorDependencies, 'emit' | 'fail'>,
  ): PluginSupervisor {
    const { socketPath, mountRoot } = this.placesOf(allocId, config);
    const { timers, logger, places } = this.deps;
    const supervisor = new PluginSupervisor({
      ...task,
      allocId,
      config,
      socketPath,
      mountRoot,
      pluginRoot: seesMachine ? mountRoot : config.StagePublishBaseDir,
      registry: this.registry,
      connect: this.connect,
      timers,
      logger,
      removeSocket: async () => {
        this.supervisors.delete(supervisor);
        await places.removeSocket(socketPath);
      },
    });
    this.supervisors.add(supervisor);
    return supervisor;
  }

  /** Makes the CSI volumes of an allocation. They are found here until `removeVolumes`. */
  volumesOf(
    alloc: Allocation,
    requests: Readonly<Record<string, VolumeRequest>>,
    save: () => Promise<void>,
  ): AllocationVolumes {
    const { region, claims, places, clock, timers, logger } = this.deps;
    const volumes = new AllocationVolumes(
      alloc,
      requests,
      {
        region,
        claims,
        uses: this.uses,
        isMounted: (place) => places.isMounted(place),
        pluginReady: (id, signal) => this.plugins.nodePluginReady(id, signal),
        plugin: (id) => this.plugins.nodePlugin(id),
        mount: async (plugin, volume, signal) => {
          await this.left.clear(plugin.pluginId, volume);
          return this.mounter.mount(plugin, volume, signal);
        },
        unmount: (id, volume, signal) => this.unmount(id, volume, signal),
        clock,
        timers,
        logger,
      },
      save,
    );
    this.volumes.set(alloc.ID, volumes);
    return volumes;
  }

  /**
   * Removes the closed volumes of an allocation, and continues to unmount the rest. It compares the object, because the
   * same allocation may have new volumes here by now (AG-402). Resolves when the remaining mounts are on disk.
   */
  async removeVolumes(allocId: string, volumes: Pick<AllocationVolumes, 'remainingMounts'>): Promise<void> {
    if (this.volumes.get(allocId) === volumes) this.volumes.delete(allocId);
    await this.left.takeMounts(volumes.remainingMounts());
  }

  /** Says whether this machine has the allocation and its tasks may use its volumes. */
  usesVolumes(allocId: string): boolean {
    return this.volumes.get(allocId)?.areInUse ?? false;
  }

  /** Unmounts a volume. @throws NoSuchPluginError, and the errors of VolumeMounter.unmount */
  private async unmount(pluginId: string, volume: MountedVolume, signal: AbortSignal): Promise<void> {
    const plugin = this.plugins.nodePlugin(pluginId);
    if (!plugin) throw new NoSuchPluginError('node', pluginId);
    await this.mounter.unmount(plugin, volume, signal);
  }

  mountOf(allocId: string, alias: string): MountInfo | undefined {
    return this.volumes.get(allocId)?.mountOf(alias);
  }
}
