import { ApiVersionError, commonApiVersion } from './api-version.js';
import { ConfigSchema } from './config-schema/config-schema.js';
import type { SpecMessage } from './config-schema/spec-message.js';
import type { PluginConnection } from './plugin-connection.js';

const ASK_TIMEOUT_MS = 10_000;
const SET_TIMEOUT_MS = 60_000;
/** The ports that a driver may use for its own processes (PG-29). */
const DRIVER_PORTS = { ClientMinPort: 14_000, ClientMaxPort: 14_512 } as const;

export type PluginKind = 'driver' | 'device';
const KINDS: ReadonlyMap<string, PluginKind> = new Map([
  ['DRIVER', 'driver'],
  ['DEVICE', 'device'],
]);

/** PluginInfo is what a plugin says about itself (PG-23). */
export interface PluginInfo {
  readonly kind: PluginKind;
  readonly name: string;
  readonly version: string;
  /** The highest API version in common with the agent. */
  readonly apiVersion: string;
}

interface InfoAnswer {
  readonly type: string | number;
  readonly plugin_api_versions: readonly string[];
  readonly plugin_version: string;
  readonly name: string;
}

/** The service that every plugin has. */
export class BaseClient {
  constructor(private readonly connection: PluginConnection) {}

  /** @throws PluginError, PluginShutDownError, ApiVersionError */
  async info(): Promise<PluginInfo> {
    const answer = await this.ask<InfoAnswer>('PluginInfo');
    const kind = KINDS.get(String(answer.type));
    if (!kind) throw new ApiVersionError(`unsupported plugin type "${answer.type}"`);
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(answer.name))
      throw new ApiVersionError(`the plugin has no usable name: ${JSON.stringify(answer.name.slice(0, 64))}`);
    const apiVersion = commonApiVersion(answer.plugin_api_versions);
    return { kind, name: answer.name, version: answer.plugin_version, apiVersion };
  }

  /** Returns undefined if the plugin takes no configuration. @throws PluginError, InvalidSchemaError, JobspecError */
  async configSchema(): Promise<ConfigSchema | undefined> {
    const { spec } = await this.ask<{ readonly spec: SpecMessage | null }>('ConfigSchema');
    return spec ? ConfigSchema.of(spec) : undefined;
  }

  /** @param inService whether the plugin is to be used, not only tried (PG-26, PG-29) */
  async setConfig(config: Uint8Array, { kind, apiVersion }: PluginInfo, inService: boolean): Promise<void> {
    const driver = { ...DRIVER_PORTS, Topology: { node_ids: [], cores: [] } };
    const request = {
      msgpack_config: config,
      plugin_api_version: apiVersion,
      ...(inService && kind === 'driver' && { nomad_config: { driver } }),
    };
    await this.connection.call({ service: 'base', method: 'SetConfig', request }, { timeoutMs: SET_TIMEOUT_MS });
  }

  private ask<Answer>(method: string): Promise<Answer> {
    return this.connection.call({ service: 'base', method, request: {} }, { timeoutMs: ASK_TIMEOUT_MS });
  }
}
