import { agentSchema } from './decoding/agent-schema.js';
import { bodyOfJson } from './decoding/json-profile.js';
import type { Json, JsonObject } from './decoding/json.js';
import { decodeFlat } from './parse-place.js';
import type { TextFile } from './parse-job.js';

/** What a configuration file of the agent says. */
export interface AgentConfig {
  /** By the flag of the command `agent` that says the same; what the file does not say is not there. */
  readonly flags: Readonly<Record<string, string | number | boolean>>;
  /** Metadata of the machine. */
  readonly meta: Readonly<Record<string, string>>;
  /** What the file says to no effect, sorted. */
  readonly idle: readonly string[];
}

/** A configuration file of the agent, in HCL or in its JSON profile (CL-922). @throws JobspecError with everything that is wrong */
export function parseAgentConfig(file: TextFile): AgentConfig {
  const flags: Record<string, string | number | boolean> = {};
  const idle = new Set<string>();
  let meta: Record<string, string> = {};
  const take = (object: JsonObject): void => {
    for (const [key, value] of Object.entries(object)) {
      if (isUnsaid(value)) continue;
      if (key.startsWith('$')) idle.add(key.slice(1));
      else if (key === 'meta') meta = value as Record<string, string>;
      // One flag and one setting for the whole block: a false in it is said, so nothing but null is left out.
      else if (key === 'default-scheduler-config') flags[key] = JSON.stringify(value, withoutUnset);
      else if (isObject(value)) take(value);
      else if (typeof value !== 'object') flags[key] = value;
    }
  };
  const isJson = file.text.trimStart().startsWith('{');
  take(decodeFlat('file', agentSchema, file, isJson ? bodyOfJson : undefined));
  return { flags, meta, idle: [...idle].toSorted() };
}

/** An unset attribute, or a block that is not there. */
const isUnsaid = (value: Json | undefined): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0);

/** For `JSON.stringify`: leaves out the members that are null. */
const withoutUnset = (_key: string, value: Json): Json | undefined => value ?? undefined;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
