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

/** Neither namespaces nor paths have it, so a star of one never reaches into the other (OP-135). */
const VARIABLE_SEPARATOR = '\0';

/** A policy as it is stored, as far as it says what is allowed. */
export interface PolicySource {
  readonly name: string;
  readonly modifyIndex: number;
  /** HCL or JSON. */
  readonly rules: string;
}

/** Which workload asks, as its identity says. */
export interface Workload {
  readonly namespace: string;
  /** Of a dispatched or periodic child its parent's (OP-137). */
  readonly jobId: string;
  readonly group: string;
  /** Undefined or empty: the identity is a service's, not a task's. */
  readonly task?: string | undefined;
}

/** The levels of the blocks without label, each the strongest of all policies (OP-125). */
interface Levels {
  readonly agent: PolicyLevel | undefined;
  readonly node: PolicyLevel | undefined;
  readonly operator: PolicyLevel | undefined;
  readonly quota: PolicyLevel | undefined;
  readonly plugin: PluginLevel | undefined;
}

/** What policies allow together. */
interface Grants {
  readonly namespaces: LabelTable<NamespaceCapability>;
  readonly nodePools: LabelTable<NodePoolCapability>;
  readonly hostVolumes: LabelTable<HostVolumeCapability>;
  /** By `variableKey`. */
  readonly variables: LabelTable<VariableCapability>;
  /** Whether a rule for variables grants something in a namespace. */
  readonly hasVariables: (namespace: string) => boolean;
  readonly operator: Granted<OperatorCapability>;
  readonly levels: Levels;
}

/**
 * What who calls may do: the rules of all policies, compiled (operator.md sections 7.3 and 7.4). It never changes, so it
 * may be shared and cached. Compiling costs time linear in the policies' texts. A question about a label costs a look-up,
 * and for a pattern a linear match with each pattern of the policies at most; those that look at more say so.
 *
 * Where a name is asked for, a `*` in it is no pattern and matches nothing (OP-136).
 */
export class Acl {
  /** A management token: everything is allowed. */
  static readonly management = new Acl('everything');
  /** No policy: nothing is allowed. */
  static readonly none = Acl.compile([]);
  /** A node identity (OP-119). What it may do beyond that, for its own node and pool, its services decide. */
  static readonly node = Acl.compile([
    { name: 'node', modifyIndex: 0, rules: 'node { policy = "read" }\nagent { policy = "read" }' },
  ]);

  private constructor(private readonly grants: Grants | 'everything') {}

  /**
   * The order of the policies does not matter.
   * @throws Refusal `internal` if a stored policy cannot be read: without it, what it denies would be allowed
   */
  static compile(policies: readonly PolicySource[]): Acl {
    return new Acl(grantsOf(policies.map(storedRules)));
  }

  isManagement(): boolean {
    return this.grants === 'everything';
  }

  /** Whether the namespace has at least one of the capabilities. */
  allowsNamespace(namespace: string, ...anyOf: readonly NamespaceCapability[]): boolean {
    if (this.grants === 'everything') return true;
    return hasOneOf(this.grants.namespaces.grantedTo(namespace), anyOf);
  }

  /** Whether some label grants one of the capabilities: who asks for all namespaces is refused if none does (OP-140). */
  allowsAnyNamespace(...anyOf: readonly NamespaceCapability[]): boolean {
    if (this.grants === 'everything') return true;
    return this.grants.namespaces.grantsAnywhere((granted) => hasOneOf(granted, anyOf));
  }

  /** Whether anything is allowed in the namespace (OP-139). Rules for variables alone are not enough. */
  hasAccessToNamespace(namespace: string): boolean {
    if (this.grants === 'everything') return true;
    return isSome(this.grants.namespaces.grantedTo(namespace));
  }

  /** Those of the given namespaces that have one of the capabilities, to filter a list with (OP-140). */
  namespacesAllowing(anyOf: readonly NamespaceCapability[], all: readonly string[]): readonly string[] | 'all' {
    return this.grants === 'everything' ? 'all' : all.filter((one) => this.allowsNamespace(one, ...anyOf));
  }

  allowsNodePool(pool: string, capability: NodePoolCapability): boolean {
    if (this.grants === 'everything') return true;
    return hasOneOf(this.grants.nodePools.grantedTo(pool), [capability]);
  }

  /** Whether anything is allowed with the node pool. */
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

  /** Not with the level `write` (OP-128). */
  allowsPluginRead(): boolean {
    return this.hasLevel('plugin', 'read');
  }

  /** Not with the level `write` (OP-128). */
  allowsPluginList(): boolean {
    return this.hasLevel('plugin', 'read', 'list');
  }

  /** By the block's capabilities and what its level stands for; neither operator read nor write follows (OP-127). */
  allowsOperator(capability: OperatorCapability): boolean {
    return this.grants === 'everything' || this.grants.operator.has(capability);
  }

  /** Exact rule, else what a workload may do with its own paths, else the closest pattern (OP-135 to OP-137). */
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

  /** Whether some rule for variables grants something in the namespace, whatever its path (EV-40). */
  hasAnyVariableRule(namespace: string): boolean {
    return this.grants === 'everything' || this.grants.hasVariables(namespace);
  }

  /** The same in some namespace or other: who asks for all namespaces is refused if none does (OP-140). */
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
      // A `deny` among the capabilities takes the block's level as well (OP-123).
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

/** Whether a namespace is that of one of the keys of variables. */
function namespacesIn(keys: readonly string[]): (namespace: string) => boolean {
  const labels = new Set(keys.map((key) => key.slice(0, key.indexOf(VARIABLE_SEPARATOR))));
  const matches = globMatcher([...labels]);
  return (namespace) => !namespace.includes('*') && matches(namespace);
}

/** The paths that a workload may read without any policy (OP-137). */
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

/** From weak to strong (OP-125). `scale` grants nothing outside of namespaces, and does not hide another policy's level. */
const STRENGTH: Readonly<Record<PolicyLevel | PluginLevel, number>> = { scale: 0, list: 1, read: 2, write: 3, deny: 4 };

/** The level that counts of those of several policies (OP-125); undefined: none has one. */
function strongestLevel<Level extends PolicyLevel | PluginLevel>(levels: readonly Level[]): Level | undefined {
  return levels.toSorted((a, b) => STRENGTH[b] - STRENGTH[a])[0];
}
