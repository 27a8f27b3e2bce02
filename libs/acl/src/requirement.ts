import type { Acl, Workload } from './acl.js';
import type {
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  VariableCapability,
} from './capabilities.js';

type AtLeastOne<T> = readonly [T, ...T[]];

/**
 * Requirement is what a route, a topic or a subject requires of its caller (operator.md section 8). It stands where the
 * route, topic or subject is declared. The check, the help and the refusals come from it.
 */
export type Requirement =
  /** There is no check. A wrong token is not an error. */
  | { readonly kind: 'none' }
  /** The caller needs an accepted credential, whatever it allows. */
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'management' }
  /**
   * The caller needs one of the capabilities in the namespace. `wildcard` marks a list that accepts `namespace=*`; then
   * one namespace is enough (OP-140).
   */
  | { readonly kind: 'namespace'; readonly anyOf: readonly NamespaceCapability[]; readonly wildcard?: true }
  /** The caller needs at least one capability in the namespace (OP-139). */
  | { readonly kind: 'namespaceAccess' }
  | { readonly kind: 'node' | 'agent' | 'quota'; readonly level: 'read' | 'write' }
  | { readonly kind: 'operator'; readonly level: 'read' | 'write' }
  | { readonly kind: 'operator'; readonly capability: OperatorCapability }
  | { readonly kind: 'plugin'; readonly level: 'list' | 'read' }
  | { readonly kind: 'nodePool'; readonly capability: NodePoolCapability }
  /** The caller needs at least one capability of the node pool. */
  | { readonly kind: 'nodePoolAccess' }
  | { readonly kind: 'hostVolume'; readonly anyOf: readonly HostVolumeCapability[] }
  | { readonly kind: 'variable'; readonly capability: VariableCapability }
  /**
   * The caller needs at least one rule for variables in the namespace, whatever its path. `wildcard` marks a list that
   * accepts `namespace=*`; then one namespace is enough (OP-140).
   */
  | { readonly kind: 'anyVariable'; readonly wildcard?: true }
  /**
   * The caller needs a workload identity. Any is enough, unless `ownNamespace` says that it must be of the namespace. In
   * a list, every workload may then ask for the namespace `*`.
   */
  | { readonly kind: 'workload'; readonly ownNamespace?: true }
  /** The caller needs the secret or the identity of the node that the request is about. */
  | { readonly kind: 'ownNode' }
  /** The caller needs to satisfy one of the requirements. It is `|` in the table. */
  | { readonly kind: 'anyOf'; readonly of: AtLeastOne<Requirement> }
  | { readonly kind: 'allOf'; readonly of: AtLeastOne<Requirement> };

/**
 * RequirementContext says what a request is about and who makes it. A requirement is not satisfied if the member that
 * it needs is missing.
 */
export interface RequirementContext {
  /** The namespace of the object, not of the query (OP-141). `*` stands for all, in lists. */
  readonly namespace?: string | undefined;
  /** The name of the node pool. */
  readonly pool?: string | undefined;
  /** The name by which a job refers to a host volume. */
  readonly hostVolume?: string | undefined;
  /** The path of the variable. */
  readonly path?: string | undefined;
  /** The workload that makes the request, if it is one. */
  readonly workload?: Workload | undefined;
  /** Says whether the request has a credential and it was accepted. */
  readonly authenticated?: boolean | undefined;
  /** Says whether the caller is the node that the request is about. */
  readonly ownNode?: boolean | undefined;
}

/** The value in the query of a list that asks for all namespaces. */
const ALL_NAMESPACES = '*';

export function satisfies(acl: Acl, requirement: Requirement, context: RequirementContext = {}): boolean {
  if (acl.isManagement()) return true;
  const { namespace, pool, hostVolume, path, workload } = context;
  switch (requirement.kind) {
    case 'none':
      return true;
    case 'authenticated':
      return context.authenticated === true;
    case 'management':
      return false;
    case 'namespace':
      if (requirement.wildcard && namespace === ALL_NAMESPACES) return acl.allowsAnyNamespace(...requirement.anyOf);
      return namespace !== undefined && acl.allowsNamespace(namespace, ...requirement.anyOf);
    case 'namespaceAccess':
      return namespace !== undefined && acl.hasAccessToNamespace(namespace);
    case 'node':
      return requirement.level === 'read' ? acl.allowsNodeRead() : acl.allowsNodeWrite();
    case 'agent':
      return requirement.level === 'read' ? acl.allowsAgentRead() : acl.allowsAgentWrite();
    case 'quota':
      return requirement.level === 'read' ? acl.allowsQuotaRead() : acl.allowsQuotaWrite();
    case 'operator':
      if ('capability' in requirement) return acl.allowsOperator(requirement.capability);
      return requirement.level === 'read' ? acl.allowsOperatorRead() : acl.allowsOperatorWrite();
    case 'plugin':
      return requirement.level === 'read' ? acl.allowsPluginRead() : acl.allowsPluginList();
    case 'nodePool':
      return pool !== undefined && acl.allowsNodePool(pool, requirement.capability);
    case 'nodePoolAccess':
      return pool !== undefined && acl.hasAccessToNodePool(pool);
    case 'hostVolume':
      return hostVolume !== undefined && requirement.anyOf.some((one) => acl.allowsHostVolume(hostVolume, one));
    case 'variable':
      if (namespace === undefined || path === undefined) return false;
      return acl.allowsVariable(namespace, path, requirement.capability, workload);
    case 'anyVariable':
      if (requirement.wildcard && namespace === ALL_NAMESPACES) return acl.hasVariableRulesAnywhere();
      return namespace !== undefined && acl.hasAnyVariableRule(namespace);
    case 'workload':
      if (!workload || !requirement.ownNamespace) return workload !== undefined;
      return namespace === workload.namespace || namespace === ALL_NAMESPACES;
    case 'ownNode':
      return context.ownNode === true;
    case 'anyOf':
      return requirement.of.some((one) => satisfies(acl, one, context));
    case 'allOf':
      return requirement.of.every((one) => satisfies(acl, one, context));
  }
}

/** Describes the requirement in words that follow "requires": `namespace capability submit-job or register-job`. */
export function describeRequirement(requirement: Requirement): string {
  switch (requirement.kind) {
    case 'none':
      return 'no permission';
    case 'authenticated':
      return 'a valid token';
    case 'management':
      return 'a management token';
    case 'namespace':
      return `namespace capability ${requirement.anyOf.join(' or ')}`;
    case 'namespaceAccess':
      return 'any namespace capability';
    case 'node':
    case 'agent':
    case 'quota':
    case 'plugin':
      return `${requirement.kind} ${requirement.level}`;
    case 'operator':
      return 'capability' in requirement
        ? `operator capability ${requirement.capability}`
        : `operator ${requirement.level}`;
    case 'nodePool':
      return `node pool capability ${requirement.capability}`;
    case 'nodePoolAccess':
      return 'any node pool capability';
    case 'hostVolume':
      return `host volume capability ${requirement.anyOf.join(' or ')}`;
    case 'variable':
      return `variable capability ${requirement.capability}`;
    case 'anyVariable':
      return 'any rule for variables in the namespace';
    case 'workload':
      return requirement.ownNamespace ? 'a workload identity of the namespace' : 'a workload identity';
    case 'ownNode':
      return 'the identity of the node itself';
    case 'anyOf':
      return requirement.of.map(describedPart).join(', or ');
    case 'allOf':
      return requirement.of.map(describedPart).join(', and ');
  }
}

/** Puts the description in parentheses if "or" and "and" could be misread. */
function describedPart(part: Requirement): string {
  const described = describeRequirement(part);
  return part.kind === 'anyOf' || part.kind === 'allOf' ? `(${described})` : described;
}
