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

/** A policy's text, read and checked. Blocks stand in the text's order; a label may have several. */
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
  /** Undefined: the block has capabilities only. */
  readonly level: PolicyLevel | undefined;
  /** Those named, those of the level, and those that are implied, each once (OP-120, OP-121). */
  readonly capabilities: readonly OrDeny<Capability>[];
}

export interface LabelledRules<Capability extends string> extends BlockRules<Capability> {
  /** A name, or a pattern in which `*` is any run of characters. */
  readonly label: string;
}

export interface NamespaceRules extends LabelledRules<NamespaceCapability> {
  readonly variables: readonly VariableRules[];
}

export interface VariableRules {
  /** A path, or a pattern. */
  readonly path: string;
  readonly capabilities: readonly OrDeny<VariableCapability>[];
}
