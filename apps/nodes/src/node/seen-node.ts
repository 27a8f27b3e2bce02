import type { Node } from '@waybill/model';
import type { Tables } from '@waybill/state';
import type { Seen } from '@waybill/writing';

/** The stored node, for a write that is decided on it (ND-31). */
export function seenNode(nodes: Tables['nodes'], id: string): Seen<Node | undefined> {
  const row = nodes.get(id);
  return { row, sequence: row?.ModifyIndex ?? 0 };
}
