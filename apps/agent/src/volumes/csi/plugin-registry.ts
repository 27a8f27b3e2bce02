import type { Logger } from '@waybill/telemetry';

export type PluginSide = 'controller' | 'node';

/**
 * PluginRegistration is a plugin that its supervisor has seen healthy (VL-208), with all data for connecting to it
 * after a restart.
 */
export interface PluginRegistration {
  readonly side: PluginSide;
  readonly pluginId: string;
  readonly allocId: string;
  readonly socketPath: string;
  readonly provider: string;
  readonly providerVersion: string;
  /** The mount root on this machine. */
  readonly mountRoot: string;
  /** The mount root as the plugin sees it. Paths for the plugin begin with it. */
  readonly pluginRoot: string;
}

/** PluginRegistrations stores the registry. A file implements it (json-list.store.ts). */
export interface PluginRegistrations {
  load(): Promise<readonly PluginRegistration[]>;
  /** Saves the registry. Resolves when it is durable. */
  save(all: readonly PluginRegistration[]): Promise<void>;
}

/**
 * PluginRegistry holds the plugins of this machine (VL-211). For each side and plugin ID it has a list of allocations,
 * the newest first. The newest one is active. Withdrawing it makes the next one active; withdrawing an older one does
 * not change the active one. Each change is saved on disk, one write after the other, and a restarted agent continues
 * with it.
 */
export class PluginRegistry {
  /** The registrations, newest first. */
  private registrations: PluginRegistration[] = [];
  private readonly listeners: (() => void)[] = [];
  private readonly healthListeners: ((allocId: string) => void)[] = [];
  private saved: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: PluginRegistrations,
    private readonly logger: Logger,
  ) {}

  async restore(): Promise<void> {
    try {
      this.registrations = [...(await this.store.load())];
    } catch (error) {
      this.logger.error('the registry of storage plugins cannot be read: they are found again when they are probed', {
        error,
      });
    }
    this.notifyListeners();
  }

  /** Registers a listener, which is called after each change of the active plugins. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Registers a listener for plugins that went down or came up again. It receives the plugin's allocation. */
  onHealth(listener: (allocId: string) => void): void {
    this.healthListeners.push(listener);
  }

  /** Reports a change of health. The plugin's supervisor calls it, because it notices first. */
  healthChanged(allocId: string): void {
    for (const listener of this.healthListeners) listener(allocId);
  }

  /** Adds a registration. A known one keeps its place. Resolves when it is on disk. */
  async register(added: PluginRegistration): Promise<void> {
    const at = this.registrations.findIndex((one) => isSamePlugin(one, added) && one.allocId === added.allocId);
    if (at === -1) this.registrations.unshift(added);
    else this.registrations[at] = added;
    await this.notifyAndSave();
  }

  /** Removes all registrations of an allocation; having none is not an error (VL-210). */
  async withdraw(allocId: string): Promise<void> {
    const kept = this.registrations.filter((one) => one.allocId !== allocId);
    if (kept.length === this.registrations.length) return;
    this.registrations = kept;
    await this.notifyAndSave();
  }

  /** Returns the active registrations: one per side and plugin ID. */
  active(): PluginRegistration[] {
    return this.registrations.filter((one, at, all) => all.findIndex((other) => isSamePlugin(one, other)) === at);
  }

  /** Returns an earlier registration of an allocation (VL-206). */
  ofAlloc(allocId: string): PluginRegistration | undefined {
    return this.registrations.find((one) => one.allocId === allocId);
  }

  private async notifyAndSave(): Promise<void> {
    this.notifyListeners();
    this.saved = this.saved.then(() =>
      this.store.save(this.registrations).catch((error: unknown) => {
        this.logger.error(
          'the registry of storage plugins cannot be written: after a restart of the agent they are found again only when they are probed',
          { error },
        );
      }),
    );
    await this.saved;
  }

  private notifyListeners(): void {
    for (const listener of this.listeners) listener();
  }
}

const isSamePlugin = (a: PluginRegistration, b: PluginRegistration): boolean =>
  a.side === b.side && a.pluginId === b.pluginId;
