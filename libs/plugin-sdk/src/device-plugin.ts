import type { DeviceGroupMessage, DeviceStatsMessage, ReservationMessage, TimeMessage } from '@waybill/plugins';
import { answering, type Described, servePlugin, streaming } from './plugin-server.js';

/** What a plugin has to say; the rest has the default of its type. */
export type Said<T> = { readonly [Key in keyof T]?: T[Key] extends object | null ? Said<T[Key]> | null : T[Key] };

/** DevicePlugin finds devices, and says how a task gets them. */
export interface DevicePlugin extends Described {
  /** Returns all devices now and whenever they change. */
  fingerprint(signal: AbortSignal): AsyncIterable<readonly Said<DeviceGroupMessage>[]>;
  reserve(deviceIds: readonly string[]): Promise<Said<ReservationMessage>>;
  /** Returns the statistics of all devices, every `intervalMs`. */
  stats?(intervalMs: number, signal: AbortSignal): AsyncIterable<readonly Said<DeviceStatsMessage>[]>;
}

/** Serves a device plugin. It is all that the main file of a device plugin calls. */
export async function serveDevice(plugin: DevicePlugin): Promise<void> {
  await servePlugin(plugin, 'DEVICE', {
    device: {
      Fingerprint: streaming(async function* (_request, signal) {
        for await (const groups of plugin.fingerprint(signal)) yield { device_group: groups };
      }),
      Reserve: answering<{ device_ids: readonly string[] }>(async ({ device_ids: ids }) => ({
        container_res: await plugin.reserve(ids),
      })),
      Stats: streaming<{ collection_interval: TimeMessage | null }>(async function* (
        { collection_interval: every },
        signal,
      ) {
        const ms = every ? Number(every.seconds) * 1_000 + every.nanos / 1e6 : 1_000;
        if (plugin.stats) for await (const groups of plugin.stats(ms, signal)) yield { groups };
      }),
    },
  });
}
