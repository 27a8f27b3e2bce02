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

/** The caller has an outdated view of the plugins on this machine. Another instance may answer (VL-252). */
export class NoSuchPluginError extends Refusal {
  override readonly name = 'NoSuchPluginError';
  constructor(side: PluginSide, pluginId: string) {
    super('retryable', `${RETRYABLE_PREFIX}plugin csi-${side} "${pluginId}" is not registered on this client`);
  }
}

/** A node plugin that is up, with all that mounting needs to know of it. */
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
  /** Of one side of a plugin, after each look at it. */
  readonly report: (side: PluginSide, info: CSIInfo) => void;
}

/**
 * The plugins that are active on this machine, each with its connection and its fingerprints.
 *
 * started → stopped. While started it follows the registry: one instance for each side and plugin ID (VL-219), made anew
 * when another allocation becomes the active one. Whoever mounts waits until the node plugin's last
 * fingerprint was good.
 * Cost: one connection and one timer per instance.
 */
export class LocalPlugins {
  private readonly instances = new Map<string, PluginInstance>();
  private readonly waiting = new Set<() => void>();
  private cancelResync = (): void => {};
  private isStarted = false;

  constructor(private readonly deps: LocalPluginsDependencies) {
    deps.registry.onChange(() => this.follow());
    deps.registry.onHealth((allocId) => {
      for (const instance of this.instances.values()) if (instance.registration.allocId === allocId) instance.probe();
    });
  }

  start(): void {
    this.isStarted = true;
    this.resync();
  }

  /** Nothing is reported any more: the plugins go on without the agent. */
  stop(): void {
    this.isStarted = false;
    this.cancelResync();
    for (const instance of this.instances.values()) instance.leave();
    this.instances.clear();
  }

  /** @throws NoSuchPluginError */
  controller(pluginId: string): CsiPlugin['controller'] {
    const instance = this.instances.get(keyOf('controller', pluginId));
    if (!instance) throw new NoSuchPluginError('controller', pluginId);
    return instance.plugin.controller;
  }

  /** The node plugin, if it has ever been up; it may be down for the moment. */
  nodePlugin(pluginId: string): LocalNodePlugin | undefined {
    const instance = this.instances.get(keyOf('node', pluginId));
    if (!instance?.machine) return undefined;
    const { mountRoot, pluginRoot } = instance.registration;
    return { pluginId, node: instance.plugin.node, machine: instance.machine, mountRoot, pluginRoot };
  }

  /** The node plugin, if it was well when it was looked at last; waits for it. @throws PluginNotReadyError after PLUGIN_WAIT_MS, or when nobody waits any more */
  async nodePluginReady(pluginId: string, signal: AbortSignal): Promise<LocalNodePlugin> {
    const found = this.healthyNodePlugin(pluginId);
    if (found) return found;
    return new Promise((resolve, reject) => {
      const ended = (): void => {
        cancel();
        this.waiting.delete(look);
        signal.removeEventListener('abort', abandon);
      };
      const fail = (reason: string): void => {
        ended();
        reject(new PluginNotReadyError(`csi-node plugin '${pluginId}' did not become ready: ${reason}`));
      };
      const look = (): void => {
        const plugin = this.healthyNodePlugin(pluginId);
        if (!plugin) return;
        ended();
        resolve(plugin);
      };
      const abandon = (): void => fail('nobody waits for it any more');
      const cancel = this.deps.timers.after(PLUGIN_WAIT_MS, () => fail('it has not come up here within 1m0s'));
      this.waiting.add(look);
      signal.addEventListener('abort', abandon, { once: true });
      if (signal.aborted) abandon();
    });
  }

  private healthyNodePlugin(pluginId: string): LocalNodePlugin | undefined {
    return this.instances.get(keyOf('node', pluginId))?.isHealthy ? this.nodePlugin(pluginId) : undefined;
  }

  private resync(): void {
    this.follow();
    this.cancelResync = this.deps.timers.after(RESYNC_INTERVAL_MS, () => this.resync());
  }

  private follow(): void {
    if (!this.isStarted) return;
    const active = new Map(this.deps.registry.active().map((one) => [keyOf(one.side, one.pluginId), one]));
    for (const [key, instance] of this.instances) {
      if (isSame(instance.registration, active.get(key))) continue;
      this.instances.delete(key);
      instance.withdraw();
    }
    for (const [key, registration] of active) {
      if (this.instances.has(key)) continue;
      const instance = this.made(registration);
      this.instances.set(key, instance);
      instance.probe();
    }
  }

  private made(registration: PluginRegistration): PluginInstance {
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
