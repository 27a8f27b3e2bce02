import type {
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  OrDeny,
  PluginLevel,
  PolicyLevel,
  SentinelCapability,
  VariableCapability,
} from '../capabilities.js';

/**
 * PolicyRules is a policy's text after it was read and checked. Blocks are in the order of the text. A label may have
 * several blocks.
 */
export interface PolicyRules {
  readonly namespaces: readonly NamespaceRules[];
  readonly nodePools: readonly LabelledRules<NodePoolCapability>[];
  readonly hostVolumes: readonly LabelledRules<HostVolumeCapability>[];
  readonly agent?: LevelRules<PolicyLevel>;
  readonly node?: LevelRules<PolicyLevel>;
  readonly quota?: LevelRules<PolicyLevel>;
  readonly plugin?: LevelRules<PluginLevel>;
  readonly operator?: BlockRules<OperatorCapability>;
  readonly sentinel?: BlockRules<SentinelCapability>;
}

export interface LevelRules<Level extends string> {
  readonly level: Level;
}

export interface BlockRules<Capability extends string> {
  /** The level is undefined if the block has only capabilities. */
  readonly level: PolicyLevel | undefined;
  /** The named capabilities, those of the level and the implied ones, each once (OP-120, OP-121). */
  readonly capabilities: readonly OrDeny<Capability>[];
}

export interface LabelledRules<Capability extends string> extends BlockRules<Capability> {
  /** The label is a name, or a pattern in which `*` stands for any characters. */
  readonly label: string;
}

export interface NamespaceRules extends LabelledRules<NamespaceCapability> {
  readonly variables: readonly VariableRules[];
}

export interface VariableRules {
  /** The path is a path or a pattern. */
  readonly path: string;
  readonly capabilities: readonly OrDeny<VariableCapability>[];
}
