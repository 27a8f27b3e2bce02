import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BaseClient, type PluginInfo } from '../base-client.js';
import type { ConfigSchema } from '../config-schema/config-schema.js';
import { DeviceClient } from '../device-client.js';
import { DriverClient } from '../driver-client.js';
import { PluginError } from '../errors.js';
import { type PluginLogLine } from '../plugin-log.js';
import { PluginProcess } from '../plugin-process.js';

export interface TriedProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (line: PluginLogLine) => void;
  /** The default is HANDSHAKE_TIMEOUT_MS. */
  readonly handshakeTimeoutMs?: number;
}

/**
 * TriedPlugin is a plugin that is being checked. It has one process at a time, in a directory of its own.
 *
 * started → configured → ended. `kill` and `restart` change the process under the same clients' names.
 */
export class TriedPlugin {
  /** The last start of a process; it may be under way still when the plugin is removed. */
  private starting: Promise<PluginProcess> | undefined;
  private config: { readonly bytes: Uint8Array; readonly info: PluginInfo } | undefined;

  private constructor(
    private readonly program: TriedProgram,
    /** The directory of the plugin's socket, its pipes and its tasks. */
    readonly dir: string,
    private current: PluginProcess,
  ) {}

  /** @throws PluginStartError */
  static async start(program: TriedProgram): Promise<TriedPlugin> {
    const dir = await mkdtemp(path.join(tmpdir(), 'wbp-'));
    try {
      return new TriedPlugin(program, dir, await processOf(program, dir));
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  get process(): PluginProcess {
    return this.current;
  }

  get base(): BaseClient {
    return new BaseClient(this.current.connection);
  }

  get driver(): DriverClient {
    return new DriverClient(this.current.connection);
  }

  get device(): DeviceClient {
    return new DeviceClient(this.current.connection);
  }

  /** Configures the plugin for use, as an agent does. @throws PluginError, ConfigError */
  async configure(
    info: PluginInfo,
    schema: ConfigSchema | undefined,
    config: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    this.config = { bytes: schema ? schema.encode(config) : new Uint8Array(), info };
    await this.setUp(this.current);
  }

  /** Kills the process and starts another with the same configuration. @throws PluginStartError, PluginError */
  async restart(): Promise<void> {
    await this.current.kill();
    this.starting = processOf(this.program, this.dir);
    this.current = await this.starting;
    await this.setUp(this.current);
  }

  /** Ends the plugin and removes its directory. */
  async remove(): Promise<void> {
    const last = await this.starting?.catch(() => undefined);
    await last?.kill();
    await this.current.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  private async setUp(process: PluginProcess): Promise<void> {
    if (!this.config) return;
    const { bytes, info } = this.config;
    await new BaseClient(process.connection).setConfig(bytes, info, true);
    if (info.kind !== 'driver') return;
    await new DriverClient(process.connection).init().catch((error: unknown) => {
      if (!(error instanceof PluginError && error.isUnimplemented)) throw error;
    });
  }
}

async function processOf(program: TriedProgram, dir: string): Promise<PluginProcess> {
  const own = path.join(dir, 'plugin');
  await mkdir(own, { recursive: true, mode: 0o700 });
  return PluginProcess.start({ ...program, dir: own });
}
