import type { Node } from '@waybill/model';
import { RpcError } from '@waybill/rpc';
import type { Tables } from '@waybill/state';

/**
 * ND-39, ND-151: only the secret of that node proves that it is that node; the secret of a node that is not in the
 * state proves nothing.
 * @throws RpcError forbidden
 */
export function provenNode(tables: Tables, nodeId: string, secretId: string): Node {
  const node = tables.nodes.get(nodeId);
  if (!node || node.SecretID === '' || node.SecretID !== secretId) throw permissionDenied();
  return node;
}

export const permissionDenied = (): RpcError => new RpcError('forbidden', 'Permission denied');
export const nodeNotFound = (): RpcError => new RpcError('not-found', 'node not found');
