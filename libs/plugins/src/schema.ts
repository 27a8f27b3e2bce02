import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import type { MessageTypeDefinition, PackageDefinition } from '@grpc/proto-loader';

/** The services of plugins by a short name. */
export const SERVICES = {
  base: 'hashicorp.nomad.plugins.base.proto.BasePlugin',
  driver: 'hashicorp.nomad.plugins.drivers.proto.Driver',
  device: 'hashicorp.nomad.plugins.device.DevicePlugin',
  controller: 'plugin.GRPCController',
  stdio: 'plugin.GRPCStdio',
  health: 'grpc.health.v1.Health',
} as const;
export type PluginService = keyof typeof SERVICES;

/** Messages that travel inside of others. */
const MESSAGES = {
  status: 'google.rpc.Status',
  handle: 'hashicorp.nomad.plugins.drivers.proto.TaskHandle',
  recoverable: 'hashicorp.nomad.plugins.shared.structs.RecoverableError',
} as const;

/** Names as in the schema, 64-bit integers as text, enums by name (PG-121). */
const LOADER = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true } as const;
const FOLDER = fileURLToPath(new URL('../proto', import.meta.url));
const FILES = ['base.proto', 'driver.proto', 'device.proto', 'go-plugin.proto', 'health.proto', 'rpc-status.proto'];

let loaded: PackageDefinition | undefined;

/** Returns the definition of a service for a client or a server. The files are read on first use. */
export function pluginService(name: PluginService): ServiceDefinition {
  const found = schema()[SERVICES[name]];
  if (!found || 'format' in found) throw new RangeError(`the schema has no service ${name}`);
  return found;
}

/** @throws RangeError if the method is not in the schema */
export function pluginMethod(service: PluginService, method: string): MethodDefinition<object, object> {
  const found = pluginService(service)[method];
  if (!found) throw new RangeError(`the schema has no method ${service}/${method}`);
  return found;
}

/** Returns a message that travels inside of others. */
export function pluginMessage(name: keyof typeof MESSAGES): MessageTypeDefinition<object, object> {
  return schema()[MESSAGES[name]] as MessageTypeDefinition<object, object>; // the schema says so
}

function schema(): PackageDefinition {
  if (loaded) return loaded;
  const { loadSync } = createRequire(import.meta.url)('@grpc/proto-loader') as typeof import('@grpc/proto-loader');
  loaded = loadSync(FILES, { ...LOADER, includeDirs: [FOLDER] });
  return loaded;
}
