import { type Node, Refusal } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** @throws Refusal not-found */
export function storedNode(nodes: Tables['nodes'], nodeId: string): Node {
  const node = nodes.get(nodeId);
  if (!node) throw nodeNotFound();
  return node;
}

/**
 * The node that the secret proves the caller to be (ND-39, ND-151). Only that node's own secret does; the secret of a
 * node that is not in the state proves nothing. @throws Refusal forbidden
 */
export function provenNode(tables: Tables, nodeId: string, secretId: string): Node {
  const node = tables.nodes.get(nodeId);
  if (!node || node.SecretID === '' || node.SecretID !== secretId) throw permissionDenied();
  return node;
}

export const permissionDenied = (): Refusal => new Refusal('forbidden', 'Permission denied');
export const nodeNotFound = (): Refusal => new Refusal('not-found', 'node not found');
