import { cpus } from 'node:os';
import type { PluginRecord } from '@waybill/plugins';
import { isAlive, sendSignal } from '@waybill/processes';
import type { ServiceContext } from '@waybill/service';
import { DeviceSource, type DeviceSourceDependencies } from '../devices/device-source.js';
import { LocalDevices } from '../devices/local-devices.js';
import type { Driver, TaskEvent } from '../drivers/driver.js';
import { isAllowedDriver } from '../drivers/drivers.service.js';
import { ExternalDriver } from '../drivers/external/external-driver.js';
import { unusableDriver } from '../drivers/external/unusable-driver.js';
import { below, ownDirectory, pathName } from '../paths/path-name.js';
import type { TaskOutputs } from '../tasks/logs/task-output.js';
import { WITHHELD_PREFIXES, WITHHELD_HOST_VARIABLES } from '../tasks/task-env.js';
import { chosenPlugins, isKnown, type KnownPlugin, tryPlugin, type UnusablePlugin } from './plugin-catalogue.js';
import { findPluginFiles, type PluginFile } from './plugin-files.store.js';
import { type PluginEvent, PluginInstance } from './plugin-instance.js';
import { PluginRecords } from './plugin-records.store.js';

/** AgentPlugins are the plugins of one machine. */
export interface AgentPlugins {
  /** The external drivers by name. Those that cannot be used are undetected. */
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The devices of all device plugins. */
  readonly devices: LocalDevices;
  /** Registers a listener for changes of the devices. */
  onDevicesChanged(listener: () => void): void;
  /** Registers a listener for faults of device plugins. */
  onDeviceFault(listener: (plugin: string, message: string) => void): void;
  /** Registers a listener for events that drivers report about their tasks. */
  onTaskEvent(listener: (event: TaskEvent) => void): void;
  /** Ends all plugins in order (PG-74). */
  close(): Promise<void>;
}

export interface AgentPluginsOptions {
  /** The directory of the agent. */
  readonly dir: string;
  readonly outputs: TaskOutputs;
  readonly mhzPerCore: number;
  /** The names of the built-in drivers. */
  readonly builtIn: ReadonlySet<string>;
}

/**
 * Finds, tries and starts the plugins of the machine.
 * @throws PluginConfigError if a `config` block does not fit its plugin
 */
export async function pluginsOf(context: ServiceContext, options: AgentPluginsOptions): Promise<AgentPlugins> {
  const { settings, logger } = context;
  const { dir, builtIn } = options;
  const records = await PluginRecords.load(below(dir, 'plugin_state', 'running.json'));
  const tried = await triedPlugins(context, dir);
  const chosen = chosenPlugins(tried.filter(isKnown), builtIn).filter(
    ({ kind, name }) => kind !== 'driver' || isAllowedDriver(name, settings),
  );
  await endForeign(records, chosen);
  const externals = chosen
    .filter(({ kind }) => kind === 'driver')
    .map((plugin) => externalDriver(context, options, records, plugin));
  const changes: (() => void)[] = [];
  const faults: ((plugin: string, message: string) => void)[] = [];
  const sources = chosen
    .filter(({ kind }) => kind === 'device')
    .map((plugin) =>
      deviceSource(context, records, plugin, {
        changed: () => changes.forEach((changed) => changed()),
        fault: (message) => {
          logger.warn('a device plugin fails', { plugin: plugin.name, reason: message });
          for (const fault of faults) fault(plugin.name, message);
        },
      }),
    );
  const devices = new LocalDevices(sources, logger);
  await Promise.all([...externals.map((driver) => driver.open()), devices.open(context.timers)]);
  const unusable = tried.filter((plugin): plugin is UnusablePlugin => !isKnown(plugin));
  for (const { fileName, reason } of unusable) logger.warn('a plugin cannot be used', { plugin: fileName, reason });
  const drivers = [
    ...unusable
      .filter(({ fileName }) => !builtIn.has(fileName))
      .map(({ fileName, reason }) => unusableDriver(fileName, reason)),
    ...externals,
  ];
  if (Object.keys(settings.WAYBILL_PLUGINS).length > 0 && tried.length === 0)
    logger.warn('no plugin of the configuration was found', { plugins: Object.keys(settings.WAYBILL_PLUGINS) });
  return {
    drivers: new Map(drivers.map((driver) => [driver.name, driver])),
    devices,
    onDevicesChanged: (listener) => void changes.push(listener),
    onDeviceFault: (listener) => void faults.push(listener),
    onTaskEvent: (listener) => {
      for (const driver of externals) driver.onTaskEvent(listener);
    },
    close: async () => {
      await Promise.all([...externals.map((driver) => driver.close()), devices.close()]);
    },
  };
}

async function triedPlugins(context: ServiceContext, dir: string): Promise<(KnownPlugin | UnusablePlugin)[]> {
  const { settings, logger, metrics } = context;
  const callSeconds = metrics.histogram('plugin_call_seconds', 'calls to plugins', ['plugin', 'method']);
  const pluginDir =
    settings.WAYBILL_PLUGIN_DIR === '' ? below(dir, 'plugins') : ownDirectory(settings.WAYBILL_PLUGIN_DIR);
  const files = await findPluginFiles(pluginDir);
  if (!files && settings.WAYBILL_PLUGIN_DIR !== '') logger.warn('there is no plugin directory', { dir: pluginDir });
  const isConfigured = ({ name, file }: PluginFile): boolean => {
    if (Object.hasOwn(settings.WAYBILL_PLUGINS, name)) return true;
    logger.warn('plugin not referenced in the agent configuration file, loading skipped', { file });
    return false;
  };
  return Promise.all(
    (files ?? []).filter(isConfigured).map((file) => {
      const own = below(dir, 'plugin_state', pathName(file.name, 'the plugin'));
      return tryPlugin({
        file,
        block: settings.WAYBILL_PLUGINS[file.name] ?? {},
        env: pluginEnvironment(),
        dir: own,
        trialDir: below(own, 'trial'),
        logger,
        observe: (method, seconds) => {
          if (method !== 'WaitTask') callSeconds.observe({ plugin: file.name, method }, seconds); // it lasts as long as its task
        },
      });
    }),
  );
}

/** Counts what happens to the processes of a plugin (PG-125). */
function counterOf(metrics: ServiceContext['metrics'], plugin: string): (event: PluginEvent) => void {
  const counter = metrics.counter('plugin_processes', 'processes of plugins by what happened to them', [
    'plugin',
    'event',
  ]);
  return (event) => counter.inc({ plugin, event });
}

function externalDriver(
  { clock, timers, logger, metrics }: ServiceContext,
  { outputs, mhzPerCore }: AgentPluginsOptions,
  records: PluginRecords,
  { name, fileName, launch, reattach }: KnownPlugin,
): ExternalDriver {
  const plugin = new PluginInstance({
    name: fileName,
    isDriver: true,
    clock,
    timers,
    logger,
    records,
    launch,
    reattach,
    onExit: (status) => driver.pluginEnded(status),
    count: counterOf(metrics, fileName),
  });
  const totalMhz = mhzPerCore * cpus().length;
  const driver: ExternalDriver = new ExternalDriver({ name, plugin, outputs, totalMhz, clock, timers, logger });
  return driver;
}

/** A process of an earlier agent was ended, because no task depends on it (PG-73). */
function deviceSource(
  { clock, timers, logger, metrics }: ServiceContext,
  records: PluginRecords,
  { name, fileName, launch, reattach }: KnownPlugin,
  listeners: Pick<DeviceSourceDependencies, 'changed' | 'fault'>,
): DeviceSource {
  const plugin = new PluginInstance({
    name: fileName,
    isDriver: false,
    clock,
    timers,
    logger,
    records,
    launch,
    reattach,
    count: counterOf(metrics, fileName),
  });
  return new DeviceSource({ name, plugin, timers, ...listeners });
}

/** Ends the processes of plugins that an earlier agent started and that are not used any more. */
async function endForeign(records: PluginRecords, chosen: readonly KnownPlugin[]): Promise<void> {
  const used = new Set(chosen.filter(({ kind }) => kind === 'driver').map(({ fileName }) => fileName));
  for (const { name, ...record } of records.all) {
    if (used.has(name)) continue;
    endProcess(record);
    await records.remove(name);
  }
}

function endProcess({ process: identity }: PluginRecord): void {
  if (isAlive(identity)) sendSignal(identity.pid, 'SIGKILL');
}

/** Returns the agent's environment without its secrets and settings (PG-1, AG-233). */
const pluginEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !WITHHELD_HOST_VARIABLES.has(name) && !WITHHELD_PREFIXES.some((prefix) => name.startsWith(prefix)),
    ),
  );
