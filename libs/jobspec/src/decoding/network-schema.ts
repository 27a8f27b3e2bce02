import { type Json, type JsonObject, objectsIn } from './json.js';
import { bool, integer, labelled, one, optional, type Schema, text, textMap, texts } from './schema.js';

const portSchema: Schema = {
  attributes: {
    static: integer('Value'),
    to: integer('To'),
    host_network: text('HostNetwork'),
    ignore_collision: bool('IgnoreCollision'),
  },
  blocks: {},
};

const dnsSchema: Schema = {
  attributes: { servers: texts('Servers'), searches: texts('Searches'), options: texts('Options') },
  blocks: {},
};

/** Networks of groups and resources. */
export const networkSchema: Schema = {
  attributes: {
    mode: text('Mode'),
    device: text('Device'),
    cidr: text('CIDR'),
    ip: text('IP'),
    hostname: text('Hostname'),
    mbits: optional.integer('MBits'),
  },
  blocks: {
    dns: one('DNS', dnsSchema),
    cni: one('CNI', { attributes: { args: textMap('Args') }, blocks: {} }),
    port: labelled('$ports', portSchema, 'Label', ''),
    reserved_ports: labelled('$reserved', portSchema, 'Label', ''),
  },
  shape: ({ $ports, $reserved, ...json }) => ({ ...json, ...sortedPorts($ports, $reserved) }),
};

/** Splits ports into reserved and dynamic ones. Without ports, the old block `reserved_ports` counts (JS-152). */
function sortedPorts(ports: Json | undefined, reserved: Json | undefined): JsonObject {
  const written = objectsIn(ports);
  if (written.length === 0) return { ReservedPorts: reserved ?? null, DynamicPorts: null };
  const isStatic = (port: JsonObject): boolean => typeof port['Value'] === 'number' && port['Value'] > 0;
  return {
    ReservedPorts: listOrNull(written.filter(isStatic)),
    DynamicPorts: listOrNull(written.filter((port) => !isStatic(port))),
  };
}

const listOrNull = (items: JsonObject[]): Json => (items.length === 0 ? null : items);
