import type { BlockRules, LabelledRules, LevelRules, NamespaceRules, PolicyRules } from './policy-rules.js';

/**
 * PolicyRulesJson is the wire form of a policy's `RulesJSON` (operator.md section 7.1). The capabilities are the
 * effective ones: levels are resolved.
 */
export interface PolicyRulesJson {
  readonly Namespaces: readonly NamespaceRulesJson[] | null;
  readonly NodePools: readonly LabelledRulesJson[] | null;
  readonly HostVolumes: readonly LabelledRulesJson[] | null;
  readonly Agent: { readonly Policy: string } | null;
  readonly Node: { readonly Policy: string } | null;
  readonly Operator: BlockRulesJson | null;
  readonly Quota: { readonly Policy: string } | null;
  readonly Plugin: { readonly Policy: string } | null;
  readonly Sentinel: BlockRulesJson | null;
}

export interface BlockRulesJson {
  /** The policy is empty if the block has only capabilities. */
  readonly Policy: string;
  readonly Capabilities: readonly string[] | null;
}

export interface LabelledRulesJson extends BlockRulesJson {
  readonly Name: string;
}

export interface NamespaceRulesJson extends LabelledRulesJson {
  readonly Variables: {
    readonly Paths: readonly { readonly PathSpec: string; readonly Capabilities: readonly string[] | null }[];
  } | null;
}

export const policyRulesJson = (rules: PolicyRules): PolicyRulesJson => ({
  Namespaces: listOrNull(rules.namespaces.map(namespaceJson)),
  NodePools: listOrNull(rules.nodePools.map(labelledJson)),
  HostVolumes: listOrNull(rules.hostVolumes.map(labelledJson)),
  Agent: levelJson(rules.agent),
  Node: levelJson(rules.node),
  Operator: rules.operator ? blockJson(rules.operator) : null,
  Quota: levelJson(rules.quota),
  Plugin: levelJson(rules.plugin),
  Sentinel: rules.sentinel ? blockJson(rules.sentinel) : null,
});

const levelJson = (rules: LevelRules<string> | undefined): { Policy: string } | null =>
  rules ? { Policy: rules.level } : null;

const blockJson = ({ level, capabilities }: BlockRules<string>): BlockRulesJson => ({
  Policy: level ?? '',
  Capabilities: listOrNull(capabilities),
});

const labelledJson = (rules: LabelledRules<string>): LabelledRulesJson => ({ Name: rules.label, ...blockJson(rules) });

const namespaceJson = (rules: NamespaceRules): NamespaceRulesJson => ({
  ...labelledJson(rules),
  Variables:
    rules.variables.length === 0
      ? null
      : {
          Paths: rules.variables.map(({ path, capabilities }) => ({
            PathSpec: path,
            Capabilities: listOrNull(capabilities),
          })),
        },
});

/** Returns null for an empty list, as the reference does on the wire. */
const listOrNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list);
