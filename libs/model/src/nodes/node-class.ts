import { createHash } from 'node:crypto';
import type { Node, NodeDevice } from './node.js';

type ClassFacts = Pick<Node, 'Datacenter' | 'NodeClass' | 'NodePool' | 'Attributes' | 'Meta' | 'NodeResources'>;

/** Digits of the digest that a class shows: 64 bits, enough that two of some thousand classes never meet. */
const DIGEST_HEX_DIGITS = 16;

/**
 * ND-43: nodes of one class are interchangeable to constraints that use no unique attribute. A pure function of
 * datacenter, class, pool, attributes, meta and devices without `unique.` keys (ND-44); `v1:` and 64 bits in decimal.
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

/** SC-51: this target of a constraint is about one node, not about its class. */
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
