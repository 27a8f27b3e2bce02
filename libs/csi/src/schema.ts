import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

export const CSI_SERVICES = ['Identity', 'Controller', 'Node'] as const;
export type CsiService = (typeof CSI_SERVICES)[number];

/**
 * Options of the loader (CW-26): names as in the schema, 64-bit integers as text, enums by name, and absent parts as
 * null, {} or [].
 */
const LOADER = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true } as const;
const SCHEMA_FILE = fileURLToPath(new URL('../proto/csi.proto', import.meta.url));

let loaded: Record<CsiService, ServiceDefinition> | undefined;

/** Returns the definition of a service for a client or a server. The schema and its parser are loaded on first use. */
export function csiService(name: CsiService): ServiceDefinition {
  loaded ??= load();
  return loaded[name];
}

/** @throws RangeError if the method is not in the schema */
export function csiMethod(service: CsiService, method: string): MethodDefinition<object, object> {
  const found = csiService(service)[method];
  if (!found) throw new RangeError(`the schema has no method ${service}/${method}`);
  return found;
}

function load(): Record<CsiService, ServiceDefinition> {
  const { loadSync } = createRequire(import.meta.url)('@grpc/proto-loader') as typeof import('@grpc/proto-loader');
  const all = loadSync(SCHEMA_FILE, LOADER);
  const service = (name: CsiService): ServiceDefinition => {
    const found = all[`csi.v1.${name}`];
    if (!found || 'format' in found) throw new RangeError(`the schema has no service ${name}`);
    return found;
  };
  return { Identity: service('Identity'), Controller: service('Controller'), Node: service('Node') };
}
