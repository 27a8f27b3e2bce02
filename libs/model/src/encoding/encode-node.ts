import type { DriverInfo, Node, NodeListStub, NodeResources } from '../nodes/node.js';
import { encodeNetworks, type WireObject } from './wire-object.js';

/**
 * Encodes a copy of a node for clients: `SecretID` is blank, and the computed member `Drain` is added (API-20, EV-51).
 */
export function encodeNode(node: Node): WireObject {
  return {
    ...node,
    SecretID: '',
    Drain: node.DrainStrategy !== null,
    NodeResources: encodeNodeResources(node.NodeResources),
  };
}

/** Encodes a node for the list. Attributes (only `os.name`) and resources appear on request. */
export function encodeNodeStub(node: Node, options: { resources?: boolean; os?: boolean } = {}): WireObject {
  const stub = {
    Address: hostOf(node.HTTPAddr),
    ID: node.ID,
    ...(options.os === true ? { Attributes: { 'os.name': node.Attributes['os.name'] ?? '' } } : {}),
    Datacenter: node.Datacenter,
    Name: node.Name,
    NodePool: node.NodePool,
    NodeClass: node.NodeClass,
    Version: node.Attributes['nomad.version'] ?? '',
    Drain: node.DrainStrategy !== null,
    SchedulingEligibility: node.SchedulingEligibility,
    Status: node.Status,
    StatusDescription: node.StatusDescription,
    Drivers: withoutSchemas(node.Drivers),
    HostVolumes: node.HostVolumes,
    LastDrain: node.LastDrain,
    CreateIndex: node.CreateIndex,
    ModifyIndex: node.ModifyIndex,
  } satisfies NodeListStub;
  if (options.resources !== true) return stub;
  return {
    ...stub,
    NodeResources: encodeNodeResources(node.NodeResources),
    ReservedResources: node.ReservedResources,
  };
}

/** Returns drivers without the schemas of their configurations, which would be most of a list. */
function withoutSchemas(drivers: Node['Drivers']): Node['Drivers'] {
  if (Object.values(drivers).every(({ TaskConfigSchema }) => TaskConfigSchema === undefined)) return drivers;
  return Object.fromEntries(Object.entries(drivers).map(([name, driver]) => [name, withoutSchema(driver)]));
}

function withoutSchema(driver: DriverInfo): DriverInfo {
  const { Attributes, Detected, Healthy, HealthDescription, UpdateTime } = driver;
  return { Attributes, Detected, Healthy, HealthDescription, UpdateTime };
}

function encodeNodeResources(resources: NodeResources): WireObject {
  return { ...resources, Networks: encodeNetworks(resources.Networks) };
}

/** Returns the host of `host:port` or `[v6]:port`, or an empty text if there is no address. */
function hostOf(httpAddr: string): string {
  const portAt = httpAddr.lastIndexOf(':');
  const host = portAt === -1 ? httpAddr : httpAddr.slice(0, portAt);
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
