import { createHash } from 'node:crypto';
import type { Node, NodeDevice } from './node.js';

type ClassFacts = Pick<Node, 'Datacenter' | 'NodeClass' | 'NodePool' | 'Attributes' | 'Meta' | 'NodeResources'>;

/** Digits of the digest in a class. 64 bits are enough for thousands of classes without a collision. */
const DIGEST_HEX_DIGITS = 16;

/**
 * Returns the computed class of a node (ND-43). Constraints without unique attributes treat all nodes of one class
 * alike. The class is a pure function of datacenter, class, pool, attributes, meta and devices without `unique.` keys
 * (ND-44). Its form is `v1:` and 64 bits in decimal.
 */
export function computedClass(node: ClassFacts): string {
  const facts = [
    node.Datacenter,
    node.NodeClass,
    node.NodePool,
    sharedEntries(node.Attributes),
    sharedEntries(node.Meta),
    (node.NodeResources.Devices ?? []).map(deviceFacts).toSorted(),
  ];
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, DIGEST_HEX_DIGITS);
  return `v1:${BigInt(`0x${digest}`)}`;
}

/** Whether this target of a constraint concerns one node instead of its class (SC-51). */
export function escapesComputedClass(target: string): boolean {
  return /^\$\{(node\.|attr\.|meta\.)?unique\./.test(target);
}

function deviceFacts(device: NodeDevice): string {
  return JSON.stringify([device.Vendor, device.Type, device.Name, sharedEntries(device.Attributes ?? {})]);
}

function sharedEntries(map: Record<string, unknown>): [string, unknown][] {
  return Object.entries(map)
    .filter(([key]) => !key.startsWith('unique.'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
