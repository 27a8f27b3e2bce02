import { ALL_NODES_POOL, computedClass, type Node, poolNameProblem, Refusal } from '@waybill/model';
import type { NodeRegisterRequest } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import type { Decision } from '@waybill/writing';
import { checkNode } from '../node/machine-shapes.js';
import { nodeNameProblem, withCutTexts } from '../node/machine-texts.js';
import { isNodeStatus } from '../node/node-status.js';

/**
 * The node of a valid request, with defaults (ND-26, ND-27). It checks in the order of ND-26, then the node's shape.
 * @throws Refusal
 */
export function checkedNode(request: NodeRegisterRequest): Node {
  const node: Node | null | undefined = request.Node;
  if (!node) throw invalid('missing node for client registration');
  if (!node.ID) throw invalid('missing node ID for client registration');
  if (!node.Datacenter) throw invalid('missing datacenter for client registration');
  if (!node.Name) throw invalid('missing node name for client registration');
  if (!node.Attributes || Object.keys(node.Attributes).length === 0)
    throw invalid('missing attributes for client registration');
  if (!node.SecretID) throw invalid('missing node secret ID for client registration');
  const pool = node.NodePool || 'default';
  const problem = poolNameProblem(pool);
  if (problem !== undefined) throw invalid(`invalid node pool: ${problem}`);
  if (pool === ALL_NODES_POOL) throw invalid('node is not allowed to register in node pool "all"');
  const status = node.Status || 'initializing';
  if (!isNodeStatus(status)) throw invalid('invalid status for node');
  checkNode(node);
  const tooLong = nodeNameProblem(node);
  if (tooLong !== undefined) throw invalid(tooLong);
  return {
    ...withCutTexts(node),
    NodePool: pool,
    Status: status,
    SchedulingEligibility: node.SchedulingEligibility || 'eligible',
  };
}

export interface RegistrationRequest {
  readonly sent: Node;
  readonly comesAfter?: number | undefined;
  /** The root key that signed the identity in the answer; undefined if there is none in it. */
  readonly signingKeyId?: string | undefined;
}

/**
 * The registration to write; undefined if the node was changed since the transaction that the request follows (ND-223).
 */
export function registrationOf(
  { sent, comesAfter = Infinity, signingKeyId }: RegistrationRequest,
  stored: Node | undefined,
  pools: Tables['node_pools'],
  nowMs: number,
): Decision<'NodeRegister'> | undefined {
  checkSecret(sent, stored);
  const Node = { ...mergedNode(sent, stored, Math.floor(nowMs / 1_000)), ...keyOf(stored, signingKeyId) };
  if (stored && stored.ModifyIndex > comesAfter) return undefined;
  return { type: 'NodeRegister', payload: { Node, CreateNodePool: !pools.has(Node.NodePool) } };
}

/** @throws Refusal forbidden if the machine does not have the secret of the stored node (ND-30) */
export function checkSecret(sent: Node, stored: Node | undefined): void {
  if (stored && stored.SecretID !== '' && stored.SecretID !== sent.SecretID)
    throw new Refusal('forbidden', 'node secret ID does not match. Not registering node.');
}

/**
 * The key that signed the newest identity of the node (AU-195). A key that the machine itself names does not
 * count, because a machine could keep any root key from being deleted.
 */
const keyOf = (stored: Node | undefined, signingKeyId: string | undefined): Pick<Node, 'IdentitySigningKeyID'> => ({
  IdentitySigningKeyID: signingKeyId ?? stored?.IdentitySigningKeyID ?? '',
});

/** The node to store (ND-28, ND-31). The state machine keeps the fields of ND-32 when it applies the transaction. */
function mergedNode(sent: Node, stored: Node | undefined, nowSeconds: number): Node {
  return {
    ...sent,
    Status: stored?.Status ?? sent.Status,
    StatusUpdatedAt: nowSeconds,
    ComputedClass: computedClass(sent),
  };
}

const invalid = (message: string): Refusal => new Refusal('invalid', message);
