import { type CsiPlugin, RETRYABLE_PREFIX } from '@waybill/csi';
import { type Clock, type CSIInfo, type CSINodeInfo, Refusal, type Timers } from '@waybill/model';
import { PluginInstance } from './plugin-instance.js';
import type { PluginRegistration, PluginRegistry, PluginSide } from './plugin-registry.js';

/** A mount waits this long for its node plugin to become healthy (VL-222, VL-224). */
export const PLUGIN_WAIT_MS = 60_000;
/** Interval at which the whole registry is read again, in case an event was missed (VL-212). */
export const RESYNC_INTERVAL_MS = 30_000;

/** The plugin of a volume did not become ready on this machine in time (VL-222). */
export class PluginNotReadyError extends Error {
  override readonly name = 'PluginNotReadyError';
}

/**
 * NoSuchPluginError says that this machine does not have the plugin, because the caller's view is outdated. Another
 * instance may answer (VL-252).
 */
export class NoSuchPluginError extends Refusal {
  override readonly name = 'NoSuchPluginError';
  constructor(side: PluginSide, pluginId: string) {
    super('retryable', `${RETRYABLE_PREFIX}plugin csi-${side} "${pluginId}" is not registered on this client`);
  }
}

/** LocalNodePlugin is a running node plugin, with all data that mounting needs. */
export interface LocalNodePlugin {
  readonly pluginId: string;
  readonly node: CsiPlugin['node'];
  readonly machine: CSINodeInfo;
  readonly mountRoot: string;
  readonly pluginRoot: string;
}

export interface LocalPluginsDependencies {
  readonly registry: PluginRegistry;
  readonly connect: (socketPath: string) => CsiPlugin;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Receives the state of one side of a plugin, after each fingerprint. */
  readonly report: (side: PluginSide, info: CSIInfo) => void;
}

/**
 * LocalPlugins are the active plugins of this machine, each with its connection and its fingerprints.
 *
 * States: started → stopped. While started it follows the registry: one instance per side and plugin ID (VL-219),
 * replaced when another allocation becomes the active one. Mounts wait until the node plugin's last fingerprint was
 * good. Cost: one connection and one timer per instance.
 */
export class LocalPlugins {
  private readonly instances = new Map<string, PluginInstance>();
  private readonly waiting = new Set<() => void>();
  private cancelResync = (): void => {};
  private isStarted = false;

  constructor(private readonly deps: LocalPluginsDependencies) {
    deps.registry.onChange(() => this.updateInstances());
    deps.registry.onHealth((allocId) => {
      for (const instance of this.instances.values()) if (instance.registration.allocId === allocId) instance.probe();
    });
  }

  start(): void {
    this.isStarted = true;
    this.resyncPlugins();
  }

  /** Stops without a report, because the plugins continue without the agent. */
  stop(): void {
    this.isStarted = false;
    this.cancelResync();
    for (const instance of this.instances.values()) instance.stopRounds();
    this.instances.clear();
  }

  /** Returns the controller plugin. @throws NoSuchPluginError */
  controller(pluginId: string): CsiPlugin['controller'] {
    const instance = this.instances.get(keyOf('controller', pluginId));
    if (!instance) throw new NoSuchPluginError('controller', pluginId);
    return instance.plugin.controller;
  }

  /** Returns the node plugin if it has ever been up. It may be down at the moment. */
  nodePlugin(pluginId: string): LocalNodePlugin | undefined {
    const instance = this.instances.get(keyOf('node', pluginId));
    if (!instance?.machine) return undefined;
    const { mountRoot, pluginRoot } = instance.registration;
    return { pluginId, node: instance.plugin.node, machine: instance.machine, mountRoot, pluginRoot };
  }

  /**
   * Returns the node plugin if its last fingerprint was good, and waits for that.
   * @throws PluginNotReadyError after PLUGIN_WAIT_MS, or if the signal aborts
   */
  async nodePluginReady(pluginId: string, signal: AbortSignal): Promise<LocalNodePlugin> {
    const found = this.healthyNodePlugin(pluginId);
    if (found) return found;
    return new Promise((resolve, reject) => {
      const ended = (): void => {
        cancel();
        this.waiting.delete(resolveIfHealthy);
        signal.removeEventListener('abort', abandon);
      };
      const fail = (reason: string): void => {
        ended();
        reject(new PluginNotReadyError(`csi-node plugin '${pluginId}' did not become ready: ${reason}`));
      };
      const resolveIfHealthy = (): void => {
        const plugin = this.healthyNodePlugin(pluginId);
        if (!plugin) return;
        ended();
        resolve(plugin);
      };
      const abandon = (): void => fail('nobody waits for it any more');
      const cancel = this.deps.timers.after(PLUGIN_WAIT_MS, () => fail('it has not come up here within 1m0s'));
      this.waiting.add(resolveIfHealthy);
      signal.addEventListener('abort', abandon, { once: true });
      if (signal.aborted) abandon();
    });
  }

  private healthyNodePlugin(pluginId: string): LocalNodePlugin | undefined {
    return this.instances.get(keyOf('node', pluginId))?.isHealthy ? this.nodePlugin(pluginId) : undefined;
  }

  private resyncPlugins(): void {
    this.updateInstances();
    this.cancelResync = this.deps.timers.after(RESYNC_INTERVAL_MS, () => this.resyncPlugins());
  }

  private updateInstances(): void {
    if (!this.isStarted) return;
    const active = new Map(this.deps.registry.active().map((one) => [keyOf(one.side, one.pluginId), one]));
    for (const [key, instance] of this.instances) {
      if (isSame(instance.registration, active.get(key))) continue;
      this.instances.delete(key);
      instance.withdraw();
    }
    for (const [key, registration] of active) {
      if (this.instances.has(key)) continue;
      const instance = this.createInstance(registration);
      this.instances.set(key, instance);
      instance.probe();
    }
  }

  private createInstance(registration: PluginRegistration): PluginInstance {
    const { connect, clock, timers } = this.deps;
    return new PluginInstance(registration, connect(registration.socketPath), {
      clock,
      timers,
      report: (info) => {
        this.deps.report(registration.side, info);
        for (const look of this.waiting) look();
      },
    });
  }
}

const keyOf = (side: PluginSide, pluginId: string): string => `${side}/${pluginId}`;

const isSame = (a: PluginRegistration, b: PluginRegistration | undefined): boolean =>
  a.allocId === b?.allocId && a.socketPath === b.socketPath;
