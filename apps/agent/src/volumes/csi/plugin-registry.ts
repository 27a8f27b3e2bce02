import type { Logger } from '@waybill/telemetry';

export type PluginSide = 'controller' | 'node';

/** A plugin that its supervisor has seen well (VL-208): all that is needed to talk to it again after a restart. */
export interface PluginRegistration {
  readonly side: PluginSide;
  readonly pluginId: string;
  readonly allocId: string;
  readonly socketPath: string;
  readonly provider: string;
  readonly providerVersion: string;
  /** On this machine. */
  readonly mountRoot: string;
  /** The same place as the plugin sees it; paths given to it begin there. */
  readonly pluginRoot: string;
}

/** Where the registry is kept. Implemented on a file (json-list.store.ts). */
export interface PluginRegistrations {
  load(): Promise<readonly PluginRegistration[]>;
  /** Resolves when it is durable. */
  save(all: readonly PluginRegistration[]): Promise<void>;
}

/**
 * The plugins of this machine (VL-211). For each side and plugin ID a list of allocations, the newest first: that one is
 * active. Withdrawing it makes the next one active; withdrawing an older one changes nothing for anybody.
 * Kept on disk at each change, one write after the other; an agent that starts again goes on with it.
 */
export class PluginRegistry {
  /** Newest first. */
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
    this.tell();
  }

  /** Called after each change of what is active. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Called when a plugin has gone down or come up again, with its allocation. */
  onHealth(listener: (allocId: string) => void): void {
    this.healthListeners.push(listener);
  }

  /** Told by whoever looks after the plugin's task, who knows first. */
  healthChanged(allocId: string): void {
    for (const listener of this.healthListeners) listener(allocId);
  }

  /** One that is there already keeps its place. Resolves when it is on disk. */
  async register(added: PluginRegistration): Promise<void> {
    const at = this.registrations.findIndex((one) => isSamePlugin(one, added) && one.allocId === added.allocId);
    if (at === -1) this.registrations.unshift(added);
    else this.registrations[at] = added;
    await this.changed();
  }

  /** All that an allocation has registered; nothing is no error (VL-210). */
  async withdraw(allocId: string): Promise<void> {
    const kept = this.registrations.filter((one) => one.allocId !== allocId);
    if (kept.length === this.registrations.length) return;
    this.registrations = kept;
    await this.changed();
  }

  /** One for each side and plugin ID. */
  active(): PluginRegistration[] {
    return this.registrations.filter((one, at, all) => all.findIndex((other) => isSamePlugin(one, other)) === at);
  }

  /** What an allocation has registered before (VL-206). */
  ofAlloc(allocId: string): PluginRegistration | undefined {
    return this.registrations.find((one) => one.allocId === allocId);
  }

  private async changed(): Promise<void> {
    this.tell();
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

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

const isSamePlugin = (a: PluginRegistration, b: PluginRegistration): boolean =>
  a.side === b.side && a.pluginId === b.pluginId;
