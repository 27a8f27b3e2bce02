import {
  type DeviceGroupMessage,
  type DeviceStatsMessage,
  durationMessage,
  type ReservationMessage,
} from './messages.js';
import type { PluginConnection } from './plugin-connection.js';

const RESERVE_TIMEOUT_MS = 60_000;

/** The service of a device plugin (section 7 of the reference). All methods throw PluginError, PluginShutDownError. */
export class DeviceClient {
  constructor(private readonly connection: Pick<PluginConnection, 'call' | 'stream'>) {}

  /** Each answer is the whole list. */
  async *fingerprint(signal: AbortSignal): AsyncGenerator<readonly DeviceGroupMessage[]> {
    const call = { service: 'device', method: 'Fingerprint', request: {} } as const;
    const answers = this.connection.stream<{ device_group: readonly DeviceGroupMessage[] }>(call, signal);
    for await (const { device_group: groups } of answers) yield groups;
  }

  async reserve(deviceIds: readonly string[]): Promise<ReservationMessage> {
    const call = { service: 'device', method: 'Reserve', request: { device_ids: deviceIds } } as const;
    const limits = { timeoutMs: RESERVE_TIMEOUT_MS };
    const answer = await this.connection.call<{ container_res: ReservationMessage | null }>(call, limits);
    return answer.container_res ?? { envs: {}, mounts: [], devices: [] };
  }

  async *stats(intervalMs: number, signal: AbortSignal): AsyncGenerator<readonly DeviceStatsMessage[]> {
    const request = { collection_interval: durationMessage(intervalMs) };
    const call = { service: 'device', method: 'Stats', request } as const;
    for await (const { groups } of this.connection.stream<{ groups: readonly DeviceStatsMessage[] }>(call, signal))
      yield groups;
  }
}
