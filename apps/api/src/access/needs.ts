import type { RoutedRequest } from '../http/routed-request.js';
import type {
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  Requirement,
  VariableCapability,
} from '@waybill/acl';

/**
 * Where a request says what its requirement is about. The hook checks `nowhere`, `query` and `path` before the body is
 * read; for the others the handler asks `RequestAccess` once it knows the namespace or name (OP-171).
 */
export type LabelPlace =
  /** The requirement is about no namespace and no name. */
  | 'nowhere'
  /** The parameter `namespace`. */
  | 'query'
  /** The part of the path that the route calls `:name`. */
  | 'path'
  /** The query, or else the body. */
  | 'body'
  /** The stored object that the path names (OP-141). */
  | 'object'
  /** Every namespace of the answer: the list leaves out the others (OP-140). */
  | 'list';

/** What a route needs of its caller. */
export interface Need {
  readonly requirement: Requirement;
  readonly at: LabelPlace;
  /** Set where nobody is checked: a token that is sent is not looked at. */
  readonly ignoresToken?: boolean;
  /** Set where a caller whose token has expired is told so: the web UI asks them to sign in again. */
  readonly tellsExpiry?: boolean;
  /** Set for calls that the reference answers on a node, with another text for a refused token (OP-115). */
  readonly onNode?: boolean;
}

/** A route that does several things, such as `job/*`: a need for each. */
export interface NeedsByPart {
  /** What a request wants of the route; undefined when it does not say. The handler decides by the same function. */
  readonly partOf: (request: RoutedRequest) => string | undefined;
  /** By part; `''` stands for none. */
  readonly parts: Readonly<Record<string, Need>>;
  /** Of every other part: the handler knows none of them. */
  readonly others: Need;
}

export type RouteNeeds = Need | NeedsByPart;

const need = (requirement: Requirement, at: LabelPlace): Need => ({ requirement, at });

/** Nobody is checked, and no token is looked at. */
export const open: Need = { ...need({ kind: 'none' }, 'nowhere'), ignoresToken: true };
/** Any caller whose token is valid, the anonymous one included; the handler decides what of the answer they may see. */
export const anybody: Need = need({ kind: 'none' }, 'nowhere');
/** As `anybody`, and a caller whose token has expired is told so (OP-115). */
export const itself: Need = { ...anybody, tellsExpiry: true };
export const management: Need = need({ kind: 'management' }, 'nowhere');
export const nodeRead: Need = need({ kind: 'node', level: 'read' }, 'nowhere');
export const nodeWrite: Need = need({ kind: 'node', level: 'write' }, 'nowhere');
export const agentRead: Need = need({ kind: 'agent', level: 'read' }, 'nowhere');
export const agentWrite: Need = need({ kind: 'agent', level: 'write' }, 'nowhere');
export const operatorRead: Need = need({ kind: 'operator', level: 'read' }, 'nowhere');
export const operatorWrite: Need = need({ kind: 'operator', level: 'write' }, 'nowhere');
export const operatorCapability = (capability: OperatorCapability): Need =>
  need({ kind: 'operator', capability }, 'nowhere');
export const pluginRead: Need = need({ kind: 'plugin', level: 'read' }, 'nowhere');
export const pluginList: Need = need({ kind: 'plugin', level: 'list' }, 'nowhere');

/** Any of these in the namespace that the query names. */
export const inQuery = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'query');
/** Any of these in the namespace that the query or the body names. */
export const inBody = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'body');
/** Any of these in the namespace of the object that the path names. */
export const ofObject = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'object');
/** Any of these in a namespace; objects of others are left out. */
export const inList = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'list');
/** This in the pool that the path names. */
export const ofPool = (capability: NodePoolCapability): Need => need({ kind: 'nodePool', capability }, 'path');
/** This in the pool that the body names. */
export const poolInBody = (capability: NodePoolCapability): Need => need({ kind: 'nodePool', capability }, 'body');

/** This on the variable that the path names, in the namespace of the query or the body. */
export const ofVariable = (capability: VariableCapability): Need => need({ kind: 'variable', capability }, 'body');
/** A rule for variables in the namespace, or a workload's own variables there; the others are left out. */
export const variableList: Need = need(
  { kind: 'anyOf', of: [{ kind: 'anyVariable', wildcard: true }, { kind: 'workload' }] },
  'list',
);

export const onNode = (needed: Need): Need => ({ ...needed, onNode: true });

/** A need for each part of a route. A part that is not listed is nobody's, so only those who may do everything are told so. */
export const byPart = (
  partOf: NeedsByPart['partOf'],
  parts: Readonly<Record<string, Need>>,
  others: Need = management,
): NeedsByPart => ({ partOf, parts, others });

/** Which need of the route a request has. O(1). */
export function needOf(needs: RouteNeeds, request: RoutedRequest): Need {
  if (!('parts' in needs)) return needs;
  const part = needs.partOf(request) ?? '';
  return (Object.hasOwn(needs.parts, part) ? needs.parts[part] : undefined) ?? needs.others;
}
