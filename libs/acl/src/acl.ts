import { errorText, globMatcher, Refusal } from '@waybill/model';
import type {
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  PluginLevel,
  PolicyLevel,
  VariableCapability,
} from './capabilities.js';
import { type Granted, LabelTable, withoutDenied } from './matching/label-table.js';
import { parsePolicyRules } from './rules/parse-policy-rules.js';
import type { LabelledRules, PolicyRules } from './rules/policy-rules.js';

/**
 * Neither namespaces nor paths contain this separator, so a star in one of them never matches into the other (OP-135).
 */
const VARIABLE_SEPARATOR = '\0';

/** PolicySource has the members of a stored policy that say what is allowed. */
export interface PolicySource {
  readonly name: string;
  readonly modifyIndex: number;
  /** The rules in HCL or JSON. */
  readonly rules: string;
}

/** Workload identifies the workload that makes a request, as its identity says. */
export interface Workload {
  readonly namespace: string;
  /** The ID of the job. For a dispatched or periodic child it is the parent's ID (OP-137). */
  readonly jobId: string;
  readonly group: string;
  /** The task is undefined or empty if the identity is a service's and not a task's. */
  readonly task?: string | undefined;
}

/** Levels holds the levels of the blocks without label. Each is the strongest level of all policies (OP-125). */
interface Levels {
  readonly agent: PolicyLevel | undefined;
  readonly node: PolicyLevel | undefined;
  readonly operator: PolicyLevel | undefined;
  readonly quota: PolicyLevel | undefined;
  readonly plugin: PluginLevel | undefined;
}

/** Grants is what several policies allow together. */
interface Grants {
  readonly namespaces: LabelTable<NamespaceCapability>;
  readonly nodePools: LabelTable<NodePoolCapability>;
  readonly hostVolumes: LabelTable<HostVolumeCapability>;
  /** The labels are keys from `variableKey`. */
  readonly variables: LabelTable<VariableCapability>;
  /** Says whether a rule for variables grants something in a namespace. */
  readonly hasVariables: (namespace: string) => boolean;
  readonly operator: Granted<OperatorCapability>;
  readonly levels: Levels;
}

/**
 * Acl says what a caller may do. It holds the compiled rules of all the caller's policies (operator.md sections 7.3 and
 * 7.4). It never changes, so callers may share and cache it. Compiling costs time linear in the size of the policies'
 * texts. A question about a label costs one look-up and at most one linear match with each pattern of the policies;
 * methods that look at more say so.
 *
 * A `*` in a requested name is not a pattern and matches nothing (OP-136).
 */
export class Acl {
  /** The ACL of a management token. It allows everything. */
  static readonly management = new Acl('everything');
  /** The ACL without any policy. It allows nothing. */
  static readonly none = Acl.compile([]);
  /**
   * The ACL of a node identity (OP-119). The services decide what a node may do beyond it, for its own node and pool.
   */
  static readonly node = Acl.compile([
    { name: 'node', modifyIndex: 0, rules: 'node { policy = "read" }\nagent { policy = "read" }' },
  ]);

  private constructor(private readonly grants: Grants | 'everything') {}

  /**
   * Compiles policies. Their order does not matter.
   * @throws Refusal `internal` if a stored policy cannot be read: without that policy, the ACL would allow what the
   * policy denies
   */
  static compile(policies: readonly PolicySource[]): Acl {
    return new Acl(grantsOf(policies.map(storedRules)));
  }

  isManagement(): boolean {
    return this.grants === 'everything';
  }

  /** Says whether the namespace grants at least one of the capabilities. */
  allowsNamespace(namespace: string, ...anyOf: readonly NamespaceCapability[]): boolean {
    if (this.grants === 'everything') return true;
    return hasOneOf(this.grants.namespaces.grantedTo(namespace), anyOf);
  }

  /**
   * Says whether some label grants one of the capabilities. If none does, a request for all namespaces is refused.
   * [OP-140]
   */
  allowsAnyNamespace(...anyOf: readonly NamespaceCapability[]): boolean {
    if (this.grants === 'everything') return true;
    return this.grants.namespaces.grantsAnywhere((granted) => hasOneOf(granted, anyOf));
  }

  /** Says whether anything is allowed in the namespace. Rules for variables alone are not enough. [OP-139] */
  hasAccessToNamespace(namespace: string): boolean {
    if (this.grants === 'everything') return true;
    return isSome(this.grants.namespaces.grantedTo(namespace));
  }

  /** Returns those of the given namespaces that grant one of the capabilities, to filter a list with (OP-140). */
  namespacesAllowing(anyOf: readonly NamespaceCapability[], all: readonly string[]): readonly string[] | 'all' {
    return this.grants === 'everything' ? 'all' : all.filter((one) => this.allowsNamespace(one, ...anyOf));
  }

  allowsNodePool(pool: string, capability: NodePoolCapability): boolean {
    if (this.grants === 'everything') return true;
    return hasOneOf(this.grants.nodePools.grantedTo(pool), [capability]);
  }

  /** Says whether anything is allowed with the node pool. */
  hasAccessToNodePool(pool: string): boolean {
    if (this.grants === 'everything') return true;
    return isSome(this.grants.nodePools.grantedTo(pool));
  }

  /** @param name the `source` by which a job names the volume */
  allowsHostVolume(name: string, capability: HostVolumeCapability): boolean {
    if (this.grants === 'everything') return true;
    return hasOneOf(this.grants.hostVolumes.grantedTo(name), [capability]);
  }

  allowsNodeRead(): boolean {
    return this.hasLevel('node', 'read', 'write');
  }

  allowsNodeWrite(): boolean {
    return this.hasLevel('node', 'write');
  }

  allowsAgentRead(): boolean {
    return this.hasLevel('agent', 'read', 'write');
  }

  allowsAgentWrite(): boolean {
    return this.hasLevel('agent', 'write');
  }

  allowsOperatorRead(): boolean {
    return this.hasLevel('operator', 'read', 'write');
  }

  allowsOperatorWrite(): boolean {
    return this.hasLevel('operator', 'write');
  }

  allowsQuotaRead(): boolean {
    return this.hasLevel('quota', 'read', 'write');
  }

  allowsQuotaWrite(): boolean {
    return this.hasLevel('quota', 'write');
  }

  /** Says whether plugins may be read. The level `write` does not include it (OP-128). */
  allowsPluginRead(): boolean {
    return this.hasLevel('plugin', 'read');
  }

  /** Says whether plugins may be listed. The level `write` does not include it (OP-128). */
  allowsPluginList(): boolean {
    return this.hasLevel('plugin', 'read', 'list');
  }

  /**
   * Says whether the block's capabilities, with those of its level, include the capability. Operator read and write do
   * not follow from it (OP-127).
   */
  allowsOperator(capability: OperatorCapability): boolean {
    return this.grants === 'everything' || this.grants.operator.has(capability);
  }

  /**
   * Checks an exact rule first, then what a workload may do with its own paths, then the closest pattern (OP-135 to
   * OP-137).
   */
  allowsVariable(namespace: string, path: string, capability: VariableCapability, workload?: Workload): boolean {
    if (this.grants === 'everything') return true;
    const { variables } = this.grants;
    if (namespace.includes(VARIABLE_SEPARATOR) || path.includes(VARIABLE_SEPARATOR)) return false;
    const key = variableKey(namespace, path);
    const exact = variables.exactlyGrantedTo(key);
    if (exact) return exact.has(capability);
    if (workload && isOwnPath(workload, namespace, path)) return capability === 'list' || capability === 'read';
    return hasOneOf(variables.closestGrantedTo(key), [capability]);
  }

  /** Says whether some rule for variables grants something in the namespace, whatever its path (EV-40). */
  hasAnyVariableRule(namespace: string): boolean {
    return this.grants === 'everything' || this.grants.hasVariables(namespace);
  }

  /**
   * Says whether some rule for variables grants something in any namespace. If none does, a request for all namespaces
   * is refused. [OP-140]
   */
  hasVariableRulesAnywhere(): boolean {
    return this.grants === 'everything' || this.grants.variables.grantingLabels().length > 0;
  }

  private hasLevel<Block extends keyof Levels>(block: Block, ...enough: readonly Levels[Block][]): boolean {
    if (this.grants === 'everything') return true;
    const level = this.grants.levels[block];
    return level !== undefined && enough.includes(level);
  }
}

function storedRules({ name, rules }: PolicySource): PolicyRules {
  try {
    return parsePolicyRules(rules, { lenient: true });
  } catch (error) {
    throw new Refusal('internal', `The stored ACL policy "${name}" cannot be read: ${errorText(error)}`);
  }
}

function grantsOf(policies: readonly PolicyRules[]): Grants {
  const namespaces = policies.flatMap((policy) => policy.namespaces);
  const operators = policies.flatMap(({ operator }) => operator ?? []);
  const variables = LabelTable.of(
    namespaces.flatMap((namespace) =>
      namespace.variables.map(({ path, capabilities }) => [variableKey(namespace.label, path), capabilities] as const),
    ),
  );
  return {
    namespaces: tableOf(namespaces),
    nodePools: tableOf(policies.flatMap(({ nodePools }) => nodePools)),
    hostVolumes: tableOf(policies.flatMap(({ hostVolumes }) => hostVolumes)),
    variables,
    hasVariables: namespacesIn(variables.grantingLabels()),
    operator: withoutDenied(new Set(operators.flatMap(({ capabilities }) => capabilities))),
    levels: {
      agent: strongestLevel(policies.flatMap(({ agent }) => agent?.level ?? [])),
      node: strongestLevel(policies.flatMap(({ node }) => node?.level ?? [])),
      // A `deny` among the capabilities denies the block's level as well (OP-123).
      operator: strongestLevel(
        operators.flatMap(({ level, capabilities }) => (capabilities.includes('deny') ? 'deny' : (level ?? []))),
      ),
      quota: strongestLevel(policies.flatMap(({ quota }) => quota?.level ?? [])),
      plugin: strongestLevel(policies.flatMap(({ plugin }) => plugin?.level ?? [])),
    },
  };
}

function tableOf<Capability extends string>(rules: readonly LabelledRules<Capability>[]): LabelTable<Capability> {
  return LabelTable.of(rules.map(({ label, capabilities }) => [label, capabilities] as const));
}

function variableKey(namespace: string, path: string): string {
  return `${namespace}${VARIABLE_SEPARATOR}${path}`;
}

/** Returns a function that says whether a namespace belongs to one of the keys of variables. */
function namespacesIn(keys: readonly string[]): (namespace: string) => boolean {
  const labels = new Set(keys.map((key) => key.slice(0, key.indexOf(VARIABLE_SEPARATOR))));
  const matches = globMatcher([...labels]);
  return (namespace) => !namespace.includes('*') && matches(namespace);
}

/** Says whether the path is one that a workload may read without any policy (OP-137). */
function isOwnPath({ namespace, jobId, group, task }: Workload, ofNamespace: string, path: string): boolean {
  if (namespace !== ofNamespace) return false;
  const job = `nomad/jobs/${jobId}`;
  const paths = ['nomad/jobs', job, `${job}/${group}`, ...(task ? [`${job}/${group}/${task}`] : [])];
  return paths.includes(path);
}

const isSome = (granted: ReadonlySet<string> | undefined): boolean => granted !== undefined && granted.size > 0;

const hasOneOf = <Capability extends string>(
  granted: Granted<Capability> | undefined,
  anyOf: readonly Capability[],
): boolean => granted !== undefined && anyOf.some((capability) => granted.has(capability));

/**
 * The strength orders levels from weak to strong (OP-125). `scale` grants nothing outside of namespaces, so it does not
 * hide another policy's level.
 */
const STRENGTH: Readonly<Record<PolicyLevel | PluginLevel, number>> = { scale: 0, list: 1, read: 2, write: 3, deny: 4 };

/** Returns the strongest level of several policies (OP-125). The result is undefined if no policy has a level. */
function strongestLevel<Level extends PolicyLevel | PluginLevel>(levels: readonly Level[]): Level | undefined {
  return levels.toSorted((a, b) => STRENGTH[b] - STRENGTH[a])[0];
}
