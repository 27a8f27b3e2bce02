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
 * What a route, a topic or a subject requires of who uses it (operator.md section 8). It stands where that is declared;
 * the check, the help and the refusals come from it.
 */
export type Requirement =
  /** Nobody is checked; a wrong token is no error. */
  | { readonly kind: 'none' }
  /** A credential that was accepted, whatever it allows. */
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'management' }
  /** `wildcard`: a list, which may be asked for with `namespace=*`; then one namespace is enough (OP-140). */
  | { readonly kind: 'namespace'; readonly anyOf: readonly NamespaceCapability[]; readonly wildcard?: true }
  /** At least one capability in the namespace (OP-139). */
  | { readonly kind: 'namespaceAccess' }
  | { readonly kind: 'node' | 'agent' | 'quota'; readonly level: 'read' | 'write' }
  | { readonly kind: 'operator'; readonly level: 'read' | 'write' }
  | { readonly kind: 'operator'; readonly capability: OperatorCapability }
  | { readonly kind: 'plugin'; readonly level: 'list' | 'read' }
  | { readonly kind: 'nodePool'; readonly capability: NodePoolCapability }
  /** At least one capability of the node pool. */
  | { readonly kind: 'nodePoolAccess' }
  | { readonly kind: 'hostVolume'; readonly anyOf: readonly HostVolumeCapability[] }
  | { readonly kind: 'variable'; readonly capability: VariableCapability }
  /**
   * At least one rule for variables in the namespace, whatever its path. `wildcard`: a list, which may be asked for with
   * `namespace=*`; then one namespace is enough (OP-140).
   */
  | { readonly kind: 'anyVariable'; readonly wildcard?: true }
  /** Any workload identity. */
  | { readonly kind: 'workload' }
  /** The node that the request is about, by its secret or identity. */
  | { readonly kind: 'ownNode' }
  /** `|` of the table. */
  | { readonly kind: 'anyOf'; readonly of: AtLeastOne<Requirement> }
  | { readonly kind: 'allOf'; readonly of: AtLeastOne<Requirement> };

/** What a request is about, and who asks. What a requirement asks for and is not given, it is not satisfied by. */
export interface RequirementContext {
  /** Of the object, not of the query (OP-141). `*`: all, for lists. */
  readonly namespace?: string | undefined;
  /** Of the node pool. */
  readonly pool?: string | undefined;
  /** By which a job names a host volume. */
  readonly hostVolume?: string | undefined;
  /** Of the variable. */
  readonly path?: string | undefined;
  /** Who asks, if it is a workload. */
  readonly workload?: Workload | undefined;
  /** Whether a credential was given, and accepted. */
  readonly authenticated?: boolean | undefined;
  /** Whether the node that the request is about asks itself. */
  readonly ownNode?: boolean | undefined;
}

/** In the query of a list: all namespaces. */
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
      return workload !== undefined;
    case 'ownNode':
      return context.ownNode === true;
    case 'anyOf':
      return requirement.of.some((one) => satisfies(acl, one, context));
    case 'allOf':
      return requirement.of.every((one) => satisfies(acl, one, context));
  }
}

/** The requirement in words that follow "requires": `namespace capability submit-job or register-job`. */
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
      return 'a workload identity';
    case 'ownNode':
      return 'the identity of the node itself';
    case 'anyOf':
      return requirement.of.map(describedPart).join(', or ');
    case 'allOf':
      return requirement.of.map(describedPart).join(', and ');
  }
}

/** In parentheses where "or" and "and" would run into each other. */
function describedPart(part: Requirement): string {
  const described = describeRequirement(part);
  return part.kind === 'anyOf' || part.kind === 'allOf' ? `(${described})` : described;
}
