import { errorText } from '@waybill/model';
import {
  ApiVersionError,
  BaseClient,
  type CallObserver,
  compareVersions,
  ConfigError,
  DriverClient,
  PluginError,
  type PluginInfo,
  type PluginLogLine,
  PluginProcess,
  type PluginRecord,
} from '@waybill/plugins';
import type { Logger } from '@waybill/telemetry';
import type { PluginFile } from './plugin-files.store.js';

/** PluginBlock is the `plugin` block of the agent's configuration (PG-21). */
export interface PluginBlock {
  readonly args?: readonly string[] | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** KnownPlugin is a plugin that was tried and can be used. */
export interface KnownPlugin extends PluginInfo {
  /** The name of its file, by which its block and its record are found. */
  readonly fileName: string;
  /** Starts and configures a process for use (PG-29). @throws the reason why it cannot be used */
  readonly launch: () => Promise<PluginProcess>;
  /** Takes up a process of an earlier agent (PG-72). @throws the reason why it cannot be used */
  readonly reattach: (record: PluginRecord) => Promise<PluginProcess>;
}

/** UnusablePlugin is a plugin that cannot be used, with the reason (PG-27). */
export interface UnusablePlugin {
  readonly fileName: string;
  readonly reason: string;
}

/** PluginConfigError says that a `config` block does not fit its plugin's schema. It keeps the agent from starting. */
export class PluginConfigError extends Error {
  override readonly name = 'PluginConfigError';
}

export interface PluginTrial {
  readonly file: PluginFile;
  readonly block: PluginBlock;
  /** The environment of plugins. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of the plugin's socket and pipes. */
  readonly dir: string;
  /** The same for the trial, which runs beside a process of an earlier agent. */
  readonly trialDir: string;
  readonly logger: Logger;
  /** Receives the duration of each call to the plugin in use. */
  readonly observe: CallObserver;
}

/**
 * Starts a plugin once to ask what it is, checks its configuration, and ends it (PG-23 to PG-27).
 * @throws PluginConfigError
 */
export async function tryPlugin(trial: PluginTrial): Promise<KnownPlugin | UnusablePlugin> {
  const { file, block, env, dir, trialDir, logger, observe } = trial;
  const { name: fileName } = file;
  if (file.refusal !== undefined) return { fileName, reason: file.refusal };
  const log = (line: PluginLogLine): void => logger[line.level](line.message, { plugin: fileName, ...line.fields });
  const start = (at: string): Promise<PluginProcess> =>
    PluginProcess.start({ file: file.file, args: block.args ?? [], env, dir: at, log, observe });
  try {
    const process = await start(trialDir);
    try {
      const base = new BaseClient(process.connection);
      const info = await base.info();
      const config = await encodedConfig(base, info, block);
      const configureProcess = async (used: PluginProcess): Promise<PluginProcess> => {
        await preparePlugin(used, info, config);
        return used;
      };
      return {
        ...info,
        fileName,
        launch: async () => configureProcess(await start(dir)),
        reattach: (record) => reattachProcess(record, log, observe),
      };
    } finally {
      await process.end(false);
    }
  } catch (error) {
    if (error instanceof PluginConfigError) throw error;
    return { fileName, reason: error instanceof PluginError ? `${error.method}: ${error.message}` : errorText(error) };
  }
}

/** Encodes the configuration, and sets it once without its use (PG-26). @throws PluginConfigError */
async function encodedConfig(base: BaseClient, info: PluginInfo, { config }: PluginBlock): Promise<Uint8Array> {
  const schema = await base.configSchema();
  const configError = (reason: string): PluginConfigError =>
    new PluginConfigError(`parsing plugin configurations failed: plugin "${info.name}" (${info.kind}): ${reason}`);
  if (!schema && config && Object.keys(config).length > 0)
    throw configError('configuration not allowed but config passed');
  try {
    const bytes = schema ? schema.encode(config ?? {}) : new Uint8Array();
    if (schema) await base.setConfig(bytes, info, false);
    return bytes;
  } catch (error) {
    if (error instanceof ConfigError) throw configError(`failed to parse config: ${error.message}`);
    if (error instanceof PluginError) throw new ApiVersionError(`setting config on plugin failed: ${error.message}`);
    throw error;
  }
}

/** Configures a started process for use. It is ended if that fails. */
async function preparePlugin(process: PluginProcess, info: PluginInfo, config: Uint8Array): Promise<void> {
  try {
    await new BaseClient(process.connection).setConfig(config, info, true);
    if (info.kind === 'driver') await initialisePlugin(process, info.name);
  } catch (error) {
    await process.kill();
    throw error;
  }
}

async function initialisePlugin(process: PluginProcess, name: string): Promise<void> {
  try {
    await new DriverClient(process.connection).init();
  } catch (error) {
    if (error instanceof PluginError && error.isUnimplemented) return;
    throw new ApiVersionError(`init of plugin ${name} failed: ${errorText(error)}`);
  }
}

async function reattachProcess(
  record: PluginRecord,
  log: (line: PluginLogLine) => void,
  observe: CallObserver,
): Promise<PluginProcess> {
  const process = await PluginProcess.reattach(record, log, observe);
  try {
    await new BaseClient(process.connection).info();
    return process;
  } catch (error) {
    await process.kill();
    throw error;
  }
}

export const isKnown = (plugin: KnownPlugin | UnusablePlugin): plugin is KnownPlugin => 'launch' in plugin;

/**
 * Chooses among plugins of one name and kind: the highest version is used (PG-25).
 * @param builtIn the names of built-in drivers; they have BUILT_IN_VERSION
 */
export function chosenPlugins(plugins: readonly KnownPlugin[], builtIn: ReadonlySet<string>): KnownPlugin[] {
  const best = new Map<string, KnownPlugin>();
  for (const plugin of plugins) {
    const key = `${plugin.kind}/${plugin.name}`;
    const other = best.get(key);
    if (!other || compareVersions(plugin.version, other.version) > 0) best.set(key, plugin);
  }
  return [...best.values()].filter(
    ({ kind, name, version }) =>
      kind !== 'driver' || !builtIn.has(name) || compareVersions(version, BUILT_IN_VERSION) >= 0,
  );
}

/** The version that built-in drivers have beside external ones of the same name. */
const BUILT_IN_VERSION = '0.1.0';
