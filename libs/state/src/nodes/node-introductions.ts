import { type NodeIntroduction, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import type { Appliers } from '../machine/applier.js';
import { compareText } from '../machine/row-order.js';
import type { Write } from '../machine/write.js';

export const nodeIntroductionAppliers: Appliers<'NodeIntroduction'> = { NodeIntroduction: introduceNode };

/**
 * Type 103: uses an introduction token for a new node, before the node is registered. The first node that uses the token
 * keeps it, and may use it again if its registration failed in between. Every other node is refused (AU-201). It forgets
 * tokens that have expired: O(introductions of the last one or two hours).
 */
function introduceNode(w: Write, { Introduction }: TxnPayloads['NodeIntroduction']): void {
  const { TokenID, NodeID, KeepUntil } = Introduction;
  const used = w.tables.node_introductions.get(TokenID);
  if (used && used.NodeID !== NodeID) throw new Refusal('forbidden', 'Permission denied');
  const isOver = (other: NodeIntroduction): boolean => other.KeepUntil < w.timeNs && other.TokenID !== TokenID;
  const over = [...w.tables.node_introductions.all()].filter(isOver).map((other) => other.TokenID);
  for (const id of over.toSorted(compareText)) w.remove('node_introductions', id);
  if (!used) w.put('node_introductions', { TokenID, NodeID, KeepUntil, CreateIndex: w.index, ModifyIndex: w.index });
}
