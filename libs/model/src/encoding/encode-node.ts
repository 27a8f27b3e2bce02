import type { Node, NodeListStub, NodeResources } from '../nodes/node.js';
import { encodeNetworks, type WireObject } from './wire-object.js';

/** API-20, EV-51: a node as clients see it, on a copy: `SecretID` blank, the computed `Drain` added. */
export function encodeNode(node: Node): WireObject {
  return {
    ...node,
    SecretID: '',
    Drain: node.DrainStrategy !== null,
    NodeResources: encodeNodeResources(node.NodeResources),
  };
}

/** A row of the nodes list; attributes (`os.name` alone) and resources only when asked for. */
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
    Drivers: node.Drivers,
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

function encodeNodeResources(resources: NodeResources): WireObject {
  return { ...resources, Networks: encodeNetworks(resources.Networks) };
}

/** The host of `host:port` or `[v6]:port`; empty when there is no address. */
function hostOf(httpAddr: string): string {
  const portAt = httpAddr.lastIndexOf(':');
  const host = portAt === -1 ? httpAddr : httpAddr.slice(0, portAt);
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
