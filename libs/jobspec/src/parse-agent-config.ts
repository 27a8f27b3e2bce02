import { agentSchema } from './decoding/agent-schema.js';
import { bodyOfJson } from './decoding/json-profile.js';
import { type Json, type JsonObject, objectsIn, textAt } from './decoding/json.js';
import { decodeFlat } from './parse-place.js';
import type { TextFile } from './parse-job.js';

/** The block of an external plugin. */
export interface PluginConfig {
  readonly args?: readonly string[];
  readonly config?: JsonObject;
}

/** Blocks with these names configure built-in drivers, which have settings instead. */
const BUILT_IN_DRIVERS: ReadonlySet<string> = new Set(['docker', 'exec', 'java', 'mock_driver', 'qemu', 'raw_exec']);

/** The options of a client that have an effect, with their flags (PG-30). Old names stand for the new ones. */
const DRIVER_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['driver.allowlist', 'driver-allowlist'],
  ['driver.whitelist', 'driver-allowlist'],
  ['driver.denylist', 'driver-denylist'],
  ['driver.blacklist', 'driver-denylist'],
]);

/** The content of a configuration file of the agent. */
export interface AgentConfig {
  /** The given settings, by the corresponding flag of the command `agent`. */
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  /** Metadata of the machine. */
  readonly meta: Readonly<Record<string, string>>;
  /** The blocks of external plugins, by the plugin's file. A member that is not given is absent (PG-21). */
  readonly plugins: Readonly<Record<string, PluginConfig>>;
  /** Settings without an effect, sorted. */
  readonly idle: readonly string[];
}

/**
 * Parses a configuration file of the agent, in HCL or in its JSON profile (CL-922). @throws JobspecError with all
 * diagnostics
 */
export function parseAgentConfig(file: TextFile): AgentConfig {
  const flags: Record<string, string | number | boolean> = {};
  const idle = new Set<string>();
  const plugins: Record<string, PluginConfig> = {};
  let meta: Record<string, string> = {};
  const take = (object: JsonObject): void => {
    for (const [key, value] of Object.entries(object)) {
      if (isUnsaid(value)) continue;
      if (key === '$options' && isObject(value)) {
        for (const [option, text] of Object.entries(value)) {
          const flag = DRIVER_OPTIONS.get(option);
          if (flag === undefined) idle.add(`options.${option}`);
          else if (typeof text === 'string') flags[flag] = text;
        }
      } else if (key.startsWith('$')) idle.add(key.slice(1));
      else if (key === 'plugin') {
        for (const block of objectsIn(value)) {
          const name = textAt(block, 'name');
          if (BUILT_IN_DRIVERS.has(name)) idle.add(`plugin.${name}`);
          else plugins[name] = pluginConfig(block);
        }
      } else if (key === 'meta') meta = value as Record<string, string>;
      // The whole block is one flag and one setting. Only null counts as unset, because false is a given value.
      else if (key === 'default-scheduler-config') flags[key] = JSON.stringify(value, withoutUnset);
      else if (isObject(value)) take(value);
      else if (typeof value !== 'object') flags[key] = value;
    }
  };
  const isJson = file.text.trimStart().startsWith('{');
  take(decodeFlat('file', agentSchema, file, isJson ? bodyOfJson : undefined));
  return { flags, meta, plugins, idle: [...idle].toSorted() };
}

function pluginConfig({ args, config }: JsonObject): PluginConfig {
  return {
    ...(Array.isArray(args) && args.length > 0 && { args: args.map(String) }),
    ...(isObject(config) && Object.keys(config).length > 0 && { config }),
  };
}

/** Whether an attribute is unset or a block is absent. */
const isUnsaid = (value: Json | undefined): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0);

/** Replacer for `JSON.stringify` that leaves out null members. */
const withoutUnset = (_key: string, value: Json): Json | undefined => value ?? undefined;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
