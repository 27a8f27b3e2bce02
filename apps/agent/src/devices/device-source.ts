import { errorText, type Timers } from '@waybill/model';
import {
  DeviceClient,
  type DeviceGroupMessage,
  type DeviceStatsMessage,
  type PluginConnection,
  type ReservationMessage,
} from '@waybill/plugins';
import { Gate, pause } from '../waiting/gate.js';
import { listFault } from './device-groups.js';

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 120_000;
const MAX_STATS_WAIT_MS = 30 * 60_000;
/** The interval at which a plugin reports statistics. */
const STATS_INTERVAL_MS = 1_000;
/** The text by which a plugin says that it is switched off (PG-93). */
const DISABLED = 'device is not enabled';

/** DevicePluginProcess is a plugin that is started when it is needed. */
export interface DevicePluginProcess {
  readonly isClosed: boolean;
  runningProcess(): Promise<{ readonly connection: Pick<PluginConnection, 'call' | 'stream'> }>;
  close(): Promise<void>;
}

export interface DeviceSourceDependencies {
  readonly name: string;
  readonly plugin: DevicePluginProcess;
  readonly timers: Timers;
  /** Is called when the list has changed, also to an empty one. */
  readonly changed: () => void;
  /** Is called with a fault of the plugin, for people. */
  readonly fault: (message: string) => void;
}

/**
 * DeviceSource follows the devices of one plugin (PG-91 to PG-93), and its statistics (PG-100).
 *
 * unknown → known → known …; disabled for good if the plugin says so. Each good message replaces the list; a bad one is
 * a fault, and the last good list stays. When the stream breaks, the devices are gone until the plugin, asked again
 * after 5 s, then twice as long each time, at most 2 minutes, reports them. Memory: the last list and statistics.
 */
export class DeviceSource {
  private groups: readonly DeviceGroupMessage[] = [];
  private latestStats: readonly DeviceStatsMessage[] = [];
  private readonly first = new Gate();
  private readonly stopping = new AbortController();
  private readonly stopped = new Gate();

  constructor(private readonly deps: DeviceSourceDependencies) {}

  get devices(): readonly DeviceGroupMessage[] {
    return this.groups;
  }

  /** The last statistics; empty before the first. */
  get stats(): readonly DeviceStatsMessage[] {
    return this.latestStats;
  }

  /** Opens with the first message, or when there will be none for now. */
  get answered(): Gate {
    return this.first;
  }

  /** Reads until `close`. Never rejects. */
  async watch(): Promise<void> {
    void this.first.opened.then(() => this.watchStats());
    for (let failures = 0; !this.stopped.isOpen; failures++) {
      let failure = 'the stream of devices has ended';
      try {
        const client = new DeviceClient((await this.deps.plugin.runningProcess()).connection);
        for await (const groups of client.fingerprint(this.stopping.signal)) {
          failures = 0;
          this.applyMessage(groups);
        }
      } catch (error) {
        failure = errorText(error);
      }
      if (this.stopped.isOpen || this.deps.plugin.isClosed) return;
      this.setGroups([]);
      if (failure.includes(DISABLED)) return;
      this.deps.fault(failure);
      await pause(this.deps.timers, Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS), this.stopped);
    }
  }

  /** @throws PluginError, PluginShutDownError, PluginUnavailableError */
  async reserve(ids: readonly string[]): Promise<ReservationMessage> {
    return new DeviceClient((await this.deps.plugin.runningProcess()).connection).reserve(ids);
  }

  async close(): Promise<void> {
    this.stopping.abort();
    this.stopped.open();
    await this.deps.plugin.close();
  }

  private applyMessage(groups: readonly DeviceGroupMessage[]): void {
    const fault = listFault(groups);
    if (fault === undefined) this.setGroups(groups);
    else this.deps.fault(fault);
    this.first.open();
  }

  private setGroups(groups: readonly DeviceGroupMessage[]): void {
    const isSame = JSON.stringify(groups) === JSON.stringify(this.groups);
    this.groups = groups;
    this.first.open();
    if (!isSame) this.deps.changed();
  }

  private async watchStats(): Promise<void> {
    for (let failures = 0; !this.stopped.isOpen; failures++) {
      try {
        const client = new DeviceClient((await this.deps.plugin.runningProcess()).connection);
        for await (const groups of client.stats(STATS_INTERVAL_MS, this.stopping.signal)) {
          failures = 0;
          this.latestStats = groups;
        }
      } catch {
        // Statistics are not worth a fault: what is shown is empty.
      }
      this.latestStats = [];
      await pause(this.deps.timers, Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_STATS_WAIT_MS), this.stopped);
    }
  }
}
