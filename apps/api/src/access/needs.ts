import type { RoutedRequest } from '../http/routed-request.js';
import type {
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  Requirement,
  VariableCapability,
} from '@waybill/acl';

/**
 * LabelPlace is the place in a request that names the object of its requirement. The hook checks `nowhere`, `query` and
 * `path` before the body is read. For the others the handler asks `RequestAccess` when it knows the namespace or name
 * (OP-171).
 */
export type LabelPlace =
  /** The requirement is about no namespace and no name. */
  | 'nowhere'
  /** The parameter `namespace` names the namespace. */
  | 'query'
  /** The part of the path that the route calls `:name` names the object. */
  | 'path'
  /** The query names the namespace, or else the body. */
  | 'body'
  /** The stored object that the path names has the namespace (OP-141). */
  | 'object'
  /** Every namespace of the answer counts: the list leaves out the others (OP-140). */
  | 'list';

/** Need is what a route needs of its caller. */
export interface Need {
  readonly requirement: Requirement;
  readonly at: LabelPlace;
  /** Is set if the route does not check its caller. A token that is sent is ignored. */
  readonly ignoresToken?: boolean;
  /** Is set if the route tells a caller that their token has expired. The web UI then asks them to sign in again. */
  readonly tellsExpiry?: boolean;
  /** Is set for calls that the reference answers on a node, with another text for a refused token (OP-115). */
  readonly onNode?: boolean;
}

/** NeedsByPart has a need for each part of a route that does several things, such as `job/*`. */
export interface NeedsByPart {
  /**
   * Returns the part that a request is for, or undefined if it names none. The handler decides by the same function.
   */
  readonly partOf: (request: RoutedRequest) => string | undefined;
  /** The needs by part; `''` stands for no part. */
  readonly parts: Readonly<Record<string, Need>>;
  /** The need of every other part. The handler knows none of them. */
  readonly others: Need;
}

export type RouteNeeds = Need | NeedsByPart;

const need = (requirement: Requirement, at: LabelPlace): Need => ({ requirement, at });

/** The route does not check its caller and ignores a token. */
export const open: Need = { ...need({ kind: 'none' }, 'nowhere'), ignoresToken: true };
/**
 * The route accepts every caller whose token is valid, and the anonymous caller. The handler decides which part of the
 * answer they may see.
 */
export const anybody: Need = need({ kind: 'none' }, 'nowhere');
/** The route accepts the same callers as `anybody`, and tells a caller that their token has expired (OP-115). */
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

/** The caller needs any of these capabilities in the namespace that the query names. */
export const inQuery = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'query');
/** The caller needs any of these capabilities in the namespace that the query or the body names. */
export const inBody = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'body');
/** The caller needs any of these capabilities in the namespace of the object that the path names. */
export const ofObject = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'object');
/**
 * The caller needs any of these capabilities in some namespace. The list leaves out the objects of other namespaces.
 */
export const inList = (...anyOf: NamespaceCapability[]): Need => need({ kind: 'namespace', anyOf }, 'list');
/**
 * The caller needs this capability in some namespace, or is a workload of the namespace. The list leaves out the objects
 * of other namespaces.
 */
export const inListOrOwn = (capability: NamespaceCapability): Need =>
  need(
    {
      kind: 'anyOf',
      of: [
        { kind: 'namespace', anyOf: [capability], wildcard: true },
        { kind: 'workload', ownNamespace: true },
      ],
    },
    'list',
  );
/** The caller needs this capability in the pool that the path names. */
export const ofPool = (capability: NodePoolCapability): Need => need({ kind: 'nodePool', capability }, 'path');
/** The caller needs this capability in the pool that the body names. */
export const poolInBody = (capability: NodePoolCapability): Need => need({ kind: 'nodePool', capability }, 'body');

/** The caller needs this capability for the variable that the path names, in the namespace of the query or the body. */
export const ofVariable = (capability: VariableCapability): Need => need({ kind: 'variable', capability }, 'body');
/**
 * The caller needs a rule for variables in the namespace, or is a workload that lists its own variables there. The list
 * leaves out other variables.
 */
export const variableList: Need = need(
  { kind: 'anyOf', of: [{ kind: 'anyVariable', wildcard: true }, { kind: 'workload' }] },
  'list',
);

export const onNode = (needed: Need): Need => ({ ...needed, onNode: true });

/**
 * Declares a need for each part of a route. A part that is not listed does not exist; by default only callers with all
 * rights learn that.
 */
export const byPart = (
  partOf: NeedsByPart['partOf'],
  parts: Readonly<Record<string, Need>>,
  others: Need = management,
): NeedsByPart => ({ partOf, parts, others });

/** Returns the need of the route that applies to a request. O(1). */
export function needOf(needs: RouteNeeds, request: RoutedRequest): Need {
  if (!('parts' in needs)) return needs;
  const part = needs.partOf(request) ?? '';
  return (Object.hasOwn(needs.parts, part) ? needs.parts[part] : undefined) ?? needs.others;
}
