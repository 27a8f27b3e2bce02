import { setTimeout as pause } from 'node:timers/promises';
import { compareVersions, parseVersion } from '../api-version.js';
import type { PluginInfo } from '../base-client.js';
import { ConfigError } from '../config-schema/config-decoder.js';
import type { ConfigSchema } from '../config-schema/config-schema.js';
import { PluginError } from '../errors.js';
import { MAGIC_COOKIE } from '../handshake.js';
import { SHUTDOWN_TIMEOUT_MS } from '../plugin-process.js';
import {
  CHECK_TIMEOUT_MS,
  type CheckOptions,
  type CheckResult,
  Checks,
  expectSoon,
  expectThat,
  SkippedCheck,
} from './checks.js';
import { checkDevices } from './device-checks.js';
import { checkDriver } from './driver-checks.js';
import type { TaskSamples } from './task-samples.js';
import { TriedPlugin, type TriedProgram } from './tried-plugin.js';
import { ranWithoutCookie } from './without-cookie.js';

export interface PluginCheckOptions extends TriedProgram, TaskSamples, CheckOptions {
  /** The plugin's own configuration. */
  readonly config: Readonly<Record<string, unknown>>;
}

export interface PluginCheckReport {
  /** What the plugin says about itself; absent if it does not get so far. */
  readonly info?: PluginInfo;
  readonly results: readonly CheckResult[];
}

/** The time within which a process has noticed a signal. */
const SIGNAL_ARRIVES_MS = 300;
/** MsgPack that ends in the middle. */
const BROKEN_MSGPACK = Uint8Array.of(0x83, 0xa1);

/**
 * Checks whether a driver or device plugin keeps to the protocol as agents use it: the handshake, versions, schemas,
 * and all calls of its kind, also with wrong input, and after its process was killed. It starts real tasks with the
 * given samples. Each check that the plugin fails is a result, never an exception. No process and no file of the check
 * is left behind, unless the plugin does not destroy its tasks. Cost: about ten seconds for a good plugin.
 */
export async function checkPlugin(options: PluginCheckOptions): Promise<PluginCheckReport> {
  const checks = new Checks(options);
  const { timeoutMs = CHECK_TIMEOUT_MS } = options;
  const starting = TriedPlugin.start({ ...options, handshakeTimeoutMs: timeoutMs });
  const isStarted = await checks.run('handshake: the plugin starts and says where it listens', async () => {
    await starting;
  });
  const plugin = await starting.catch(() => undefined); // the check has the error
  if (!plugin || !isStarted) {
    await plugin?.remove(); // it came after the check was over
    return { results: checks.results };
  }
  let info: PluginInfo | undefined;
  try {
    await checkHandshake(checks, plugin, options);
    await checks.run('base: PluginInfo has a kind, a name and a common API version', async () => {
      info = await plugin.base.info();
    });
    if (info) await checkKind(checks, plugin, info, options);
  } finally {
    await plugin.remove();
  }
  return { ...(info && { info }), results: checks.results };
}

async function checkHandshake(checks: Checks, plugin: TriedPlugin, program: TriedProgram): Promise<void> {
  const cookie = `handshake: without ${MAGIC_COOKIE.name} the plugin says what it is and ends`;
  await checks.run(cookie, async (signal) => {
    const { ended, output } = await ranWithoutCookie(program, plugin.dir, signal);
    expectThat(ended, 'it goes on running');
    expectThat(!/^\d+\|\d+\|/m.test(output), 'it shakes hands');
  });
  await checks.run('handshake: SIGINT does not end the plugin', async () => {
    process.kill(plugin.process.pid, 'SIGINT');
    await pause(SIGNAL_ARRIVES_MS);
    expectThat(!plugin.process.connection.isClosed, 'it has ended');
  });
}

async function checkKind(
  checks: Checks,
  plugin: TriedPlugin,
  info: PluginInfo,
  options: PluginCheckOptions,
): Promise<void> {
  await checks.run('base: the version is one that can be compared', async () => {
    expectThat(parseVersion(info.version) !== undefined, `"${info.version}" is no version such as 0.1.0`);
    if (compareVersions(info.version, '0.1.0') < 0) return 'a built-in driver of its name would be used in its place';
  });
  let schema: ConfigSchema | undefined;
  await checks.run('base: ConfigSchema is a schema', async () => {
    schema = await plugin.base.configSchema();
    if (!schema) return 'the plugin takes no configuration';
  });
  const isConfigured = await checks.run('base: SetConfig takes the configuration', async () => {
    try {
      await plugin.configure(info, schema, options.config);
    } catch (error) {
      if (error instanceof ConfigError) throw new SkippedCheck(`give a configuration that fits: ${error.message}`);
      throw error;
    }
  });
  if (!isConfigured) {
    checks.skip(`${info.kind}: all further checks`, 'the plugin is not configured');
    return;
  }
  if (info.kind === 'driver') await checkDriver(checks, plugin, info.name, options);
  else await checkDevices(checks, plugin);
  await checks.run('base: SetConfig refuses what is no MsgPack, and the plugin goes on', async () => {
    if (!schema) throw new SkippedCheck('the plugin takes no configuration');
    const refused = await plugin.base.setConfig(BROKEN_MSGPACK, info, true).then(
      () => false,
      (error: unknown) => error instanceof PluginError,
    );
    expectThat(!plugin.process.connection.isClosed, 'the plugin ended');
    await plugin.base.info();
    expectThat(refused, 'it was accepted');
  });
  await checks.run('ending: the plugin ends when it is asked to', async () => {
    if (info.kind === 'driver')
      await plugin.process.connection
        .call({ service: 'driver', method: 'Shutdown', request: {} }, { timeoutMs: SHUTDOWN_TIMEOUT_MS })
        .catch((error: unknown) => {
          expectThat(error instanceof PluginError && error.isUnimplemented, 'Driver.Shutdown fails');
        });
    await plugin.process.connection
      .call({ service: 'controller', method: 'Shutdown', request: {} }, { timeoutMs: SHUTDOWN_TIMEOUT_MS })
      .catch(() => undefined); // its connection may break before the answer
    const ends = `it has not ended ${SHUTDOWN_TIMEOUT_MS / 1_000} s after GRPCController.Shutdown`;
    await expectSoon(() => plugin.process.connection.isClosed, ends, SHUTDOWN_TIMEOUT_MS);
  });
}
