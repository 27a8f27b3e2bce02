import { type AllocatedDevice, errorText, type NodeDevice, type Timers } from '@waybill/model';
import type { ReservationMessage } from '@waybill/plugins';
import type { DeviceGroupStats } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import { Gate, pause } from '../waiting/gate.js';
import { groupName, joinedDevices } from './device-groups.js';
import type { DeviceSource } from './device-source.js';
import { groupStats } from './device-stats.js';

/** Longest time for which the first lists of devices delay the registration of the machine (PG-94). */
export const FIRST_LIST_TIMEOUT_MS = 50_000;

/** ReserveError says that the devices of a task cannot be reserved. Another try may succeed (PG-97). */
export class ReserveError extends Error {
  override readonly name = 'ReserveError';
}

/** LocalDevices are the devices of this machine, of all plugins. Cost of each call: O(devices). */
export class LocalDevices {
  constructor(
    private readonly sources: readonly DeviceSource[],
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** Begins to follow all plugins, and waits for the first list of each. */
  async open(timers: Timers): Promise<void> {
    for (const source of this.sources) void source.watch();
    const all = new Gate();
    void Promise.all(this.sources.map(({ answered }) => answered.opened)).then(() => all.open());
    await pause(timers, FIRST_LIST_TIMEOUT_MS, all);
  }

  async close(): Promise<void> {
    await Promise.all(this.sources.map((source) => source.close()));
  }

  all(): NodeDevice[] {
    return joinedDevices(
      this.sources.map(({ devices }) => devices),
      (group, id) => this.logger.warn('two device plugins have the same device', { group, id }),
    );
  }

  stats(): DeviceGroupStats[] {
    return this.sources.flatMap(({ stats }) => stats.map(groupStats));
  }

  /** Returns what a task needs to use the devices of one group that it was assigned. @throws ReserveError */
  async reserve(device: AllocatedDevice): Promise<ReservationMessage> {
    const name = groupName(device);
    const reserveError = (reason: string): ReserveError =>
      new ReserveError(`failed to reserve device ${name}: ${reason}`);
    const source = this.sources.find(({ devices }) =>
      devices.some(
        ({ vendor, device_type: type, device_name: own, devices: instances }) =>
          vendor === device.Vendor &&
          type === device.Type &&
          own === device.Name &&
          device.DeviceIDs.every((id) => instances.some(({ ID }) => ID === id)),
      ),
    );
    if (!source) throw reserveError('no plugin of this machine has it');
    try {
      return await source.reserve(device.DeviceIDs);
    } catch (error) {
      throw reserveError(errorText(error));
    }
  }
}
