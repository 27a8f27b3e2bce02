import type { Node } from '@waybill/model';

/** The number of parts that a message names. */
const SHOWN = 3;

/** Returns the bytes of the largest members of a node as JSON, the largest first, so that a person knows what to remove. */
export function largestParts({ NodeResources, ...node }: Node): Record<string, number> {
  const parts = Object.entries({ ...node, ...NodeResources }).map(([name, value]): [string, number] => [
    name,
    Buffer.byteLength(JSON.stringify(value)),
  ]);
  return Object.fromEntries(parts.toSorted(([, a], [, b]) => b - a).slice(0, SHOWN));
}
