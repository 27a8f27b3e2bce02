import { setTimeout as pause } from 'node:timers/promises';
import { attributeFault } from '../attribute.js';
import { PluginError } from '../errors.js';
import type { DeviceGroupMessage } from '../messages.js';
import { type Checks, expectThat, SkippedCheck } from './checks.js';
import type { TriedPlugin } from './tried-plugin.js';

const UNKNOWN_ID = 'waybill-plugin-check-no-such-device';
const STATS_INTERVAL_MS = 1_000;
/** A plugin that says nothing for so long waits for a change. */
const QUIET_MS = 2_000;

/** Checks the service of a configured device plugin (section 7 of the reference). */
export async function checkDevices(checks: Checks, plugin: TriedPlugin): Promise<void> {
  let groups: readonly DeviceGroupMessage[] | undefined;
  const first = async (signal: AbortSignal): Promise<readonly DeviceGroupMessage[]> => {
    for await (const found of plugin.device.fingerprint(signal)) return found;
    throw new Error('the stream ended without a list');
  };
  await checks.run('devices: Fingerprint says at once which devices there are', async (signal) => {
    groups = await first(signal);
    const count = groups.reduce((sum, { devices }) => sum + devices.length, 0);
    return `${groups.length} groups, ${count} devices`;
  });
  if (!groups) return;
  const found = groups;
  await checks.run('devices: each group and device is complete', async () => {
    const faults = found.flatMap(groupFaults);
    expectThat(faults.length === 0, faults.slice(0, 5).join(', '));
  });
  await checks.run('devices: a second Fingerprint has the same devices, or none until they change', async (signal) => {
    const ids = (all: readonly DeviceGroupMessage[]): string =>
      all
        .flatMap(({ devices }) => devices.map(({ ID }) => ID))
        .toSorted()
        .join();
    const again = await Promise.race([first(signal), pause(QUIET_MS)]);
    if (!again) return `nothing in ${QUIET_MS / 1_000} s`;
    expectThat(ids(again) === ids(found), 'it has other ones');
  });
  const device = found.flatMap(({ devices }) => devices)[0];
  await checks.run('devices: Reserve says how a task gets a device', async () => {
    if (!device) throw new SkippedCheck('the plugin has found no device');
    const { envs, mounts, devices } = await plugin.device.reserve([device.ID]);
    const paths = [...mounts, ...devices].flatMap((one) => [one.host_path, one.task_path]);
    expectThat(
      paths.every((one) => one.startsWith('/')),
      `a path is not absolute: ${paths.join(', ')}`,
    );
    expectThat(
      devices.every(({ permissions }) => /^[rwm]*$/.test(permissions)),
      'permissions of a device have other letters than r, w and m',
    );
    return `${Object.keys(envs).length} variables, ${mounts.length} mounts, ${devices.length} device nodes`;
  });
  await checks.run('devices: Reserve refuses a device that is not there, and the plugin goes on', async () => {
    const refused = await plugin.device.reserve([UNKNOWN_ID]).then(
      () => false,
      (error: unknown) => error instanceof PluginError,
    );
    expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
    expectThat(refused, 'it was reserved');
  });
  await checks.run('devices: Stats has the instances of groups that are there', async (signal) => {
    if (!device) throw new SkippedCheck('the plugin has found no device');
    const known = new Set(found.map((one) => `${one.vendor}/${one.device_type}/${one.device_name}`));
    try {
      for await (const stats of plugin.device.stats(STATS_INTERVAL_MS, signal)) {
        const other = stats.find(({ vendor, type, name }) => !known.has(`${vendor}/${type}/${name}`));
        expectThat(!other, `it has a group ${other?.vendor}/${other?.type}/${other?.name} that Fingerprint has not`);
        return;
      }
    } catch (error) {
      if (!(error instanceof PluginError && error.isUnimplemented)) throw error;
    }
    throw new SkippedCheck('the plugin has no statistics');
  });
}

function groupFaults({
  vendor,
  device_type: type,
  device_name: name,
  devices,
  attributes,
}: DeviceGroupMessage): string[] {
  const ids = devices.map(({ ID }) => ID);
  return [
    ...(vendor === '' ? ['device vendor must be specified'] : []),
    ...(type === '' ? ['device type must be specified'] : []),
    ...(name === '' ? ['device name must be specified'] : []),
    ...(ids.includes('') ? ['device ID must be specified'] : []),
    ...(new Set(ids).size < ids.length ? [`group ${vendor}/${type}/${name} has a device ID twice`] : []),
    ...Object.entries(attributes).flatMap(([key, attribute]) => {
      const fault = attributeFault(attribute);
      return fault === undefined ? [] : [`device attribute "${key}" invalid: ${fault}`];
    }),
  ];
}
