import { type Claims, type NodeClaims, nodeClaimsOf } from '@waybill/keyring';
import { DEFAULT_AUDIENCE, type Node, type NodeIntroductionSpecification, NS_PER_SECOND } from '@waybill/model';
import { KubernetesIntroduction } from './kubernetes-introduction.js';

/** How the servers treat a new machine without a valid introduction token (AU-202). */
export type IntroductionEnforcement = 'none' | 'warn' | 'strict';

/** The credential of a registration: none, a text that is no valid token, or what a valid one says. */
export type Introduction = 'none' | 'invalid' | Claims | KubernetesIntroduction;

export type IntroductionVerdict =
  /** `use`: the token is good for one node, and its use must be recorded first (AU-201). */
  | { readonly isAllowed: true; readonly use?: NodeIntroductionSpecification }
  /** `violation` is the text for the log (AU-204). */
  | { readonly isAllowed: boolean; readonly violation: string };

/** Says whether the introduction is a valid introduction token. */
export const isClaims = (introduction: Introduction): introduction is Claims =>
  typeof introduction !== 'string' && !(introduction instanceof KubernetesIntroduction);

/** Returns the stored nodes with the machine's name. It reads all nodes, so it is called only where the answer matters. */
export type Namesakes = () => readonly Pick<Node, 'ID' | 'Status'>[];

/** A used token is remembered for this long after its end: longer than clocks differ. */
const REMEMBERED_S = 3_600;

/**
 * Decides whether a new machine may register (AU-203), by an introduction token or the identity of a node that was
 * collected meanwhile. A wrong token is refused by `warn` too: a machine that presents
 * one does not mean to come without.
 */
export function introductionVerdict(
  node: Pick<Node, 'ID' | 'Name' | 'NodePool'>,
  introduction: Introduction,
  enforcement: IntroductionEnforcement,
  namesakes: Namesakes,
): IntroductionVerdict {
  if (enforcement === 'none') return { isAllowed: true };
  if (introduction === 'none')
    return { isAllowed: enforcement === 'warn', violation: 'node registration without introduction token' };
  const failure = 'node registration introduction authentication failure';
  if (introduction === 'invalid') return { isAllowed: false, violation: failure };
  if (introduction instanceof KubernetesIntroduction) return ofKubernetes(introduction, node, namesakes);
  const identity = nodeClaimsOf(introduction);
  if (identity) return ofIdentity(identity, node);
  if (!isIntroduction(introduction)) return { isAllowed: false, violation: failure };
  const { nomad_node_pool: pool, nomad_node_name: name = '' } = introduction;
  if (pool !== node.NodePool || (name !== '' && name !== node.Name)) return { isAllowed: false, violation: MISMATCH };
  if (name === '') return { isAllowed: true };
  const KeepUntil = (introduction.exp + REMEMBERED_S) * NS_PER_SECOND;
  return { isAllowed: true, use: { TokenID: introduction.jti, NodeID: node.ID, KeepUntil } };
}

const MISMATCH = 'node registration introduction claims mismatch';

/** Whether the identity is of this very node, which was collected meanwhile. */
const ofIdentity = ({ nodeId }: NodeClaims, node: Pick<Node, 'ID'>): IntroductionVerdict =>
  nodeId === node.ID ? { isAllowed: true } : { isAllowed: false, violation: MISMATCH };

/**
 * A pod introduces the machine on which it runs, and no second one beside it (AU-266): while that machine is registered and
 * not down, a stolen token introduces no other one.
 */
function ofKubernetes(
  { machine }: KubernetesIntroduction,
  node: Pick<Node, 'ID' | 'Name'>,
  namesakes: Namesakes,
): IntroductionVerdict {
  if (machine !== undefined && machine !== node.Name) return { isAllowed: false, violation: MISMATCH };
  if (namesakes().some(({ ID, Status }) => ID !== node.ID && Status !== 'down'))
    return { isAllowed: false, violation: 'node registration of a second machine on one Kubernetes node' };
  return { isAllowed: true };
}

interface IntroductionClaims extends Claims {
  readonly exp: number;
  readonly jti: string;
}

/** Whether the claims are those of an introduction token, and not of another token of this cluster (AU-171). */
const isIntroduction = (claims: Claims): claims is IntroductionClaims =>
  [claims.aud ?? []].flat().includes(DEFAULT_AUDIENCE) &&
  (claims.sub ?? '').startsWith('node-introduction:') &&
  claims.exp !== undefined &&
  claims.jti !== undefined;
