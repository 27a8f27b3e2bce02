import {
  JobspecError,
  type JsonProfile,
  type LiteralBlock,
  type LiteralBody,
  parseLiteralFile,
} from '@waybill/jobspec';
import { Refusal } from '@waybill/model';
import {
  HOST_VOLUME_CAPABILITIES,
  HOST_VOLUME_SHORTHANDS,
  IMPLIED_NAMESPACE_CAPABILITIES,
  IMPLIED_VARIABLE_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NAMESPACE_SHORTHANDS,
  NODE_POOL_CAPABILITIES,
  NODE_POOL_SHORTHANDS,
  OPERATOR_CAPABILITIES,
  OPERATOR_SHORTHANDS,
  type OrDeny,
  PLUGIN_LEVELS,
  POLICY_LEVELS,
  type PolicyLevel,
  SENTINEL_CAPABILITIES,
  SENTINEL_SHORTHANDS,
  type Shorthands,
  VARIABLE_CAPABILITIES,
} from '../capabilities.js';
import { MAX_POLICY_BLOCKS, MAX_POLICY_BYTES, MAX_POLICY_DEPTH } from '../limits.js';
import { type Members, membersOf, PolicyKeys } from './policy-members.js';
import type {
  BlockRules,
  LabelledRules,
  LevelRules,
  NamespaceRules,
  PolicyRules,
  VariableRules,
} from './policy-rules.js';

export interface ParseOptions {
  /**
   * Ignores unknown and repeated keys instead of refusing them. It is for policies that were stored earlier. [OP-129]
   */
  readonly lenient?: boolean;
}

const NO_RULES: PolicyRules = { namespaces: [], nodePools: [], hostVolumes: [] };

/** The profile tells the JSON reader which names are blocks. */
const PROFILE: JsonProfile = {
  blocks: {
    namespace: {
      label: 'name',
      schema: { blocks: { variables: { schema: { blocks: { path: { label: 'path' } } } } } },
    },
    node_pool: { label: 'name' },
    host_volume: { label: 'name' },
    agent: {},
    node: {},
    quota: {},
    operator: {},
    plugin: {},
    sentinel: {},
  },
};

const NAMESPACE_LABEL = /^[a-zA-Z0-9-*]{1,128}$/;
const NODE_POOL_LABEL = /^[a-zA-Z0-9-_*]{1,128}$/;
const HOST_VOLUME_LABEL = /^[a-zA-Z0-9-*]{1,128}$/;

/**
 * Reads the rules of a policy in HCL or JSON. An empty text has no rules (OP-129).
 * @throws Refusal `invalid` with the contract's text (OP-128 to OP-130), or a Refusal that names a limit
 */
export function parsePolicyRules(text: string, { lenient = false }: ParseOptions = {}): PolicyRules {
  if (text === '') return NO_RULES;
  const file = syntaxOf(text);
  const keys = new PolicyKeys();
  const blocks = new Map<string, Members[]>();
  for (const block of file.blocks) {
    const members = membersOf(block, keys);
    if (!members) continue;
    const before = blocks.get(block.type);
    if (before) before.push(members);
    else blocks.set(block.type, [members]);
  }
  keys.reportAttributes(file, [], undefined);
  if (!lenient) {
    if (!file.blocks.some(({ type }) => Object.hasOwn(PROFILE.blocks, type)))
      throw refused(`Invalid policy: it has none of the blocks ${Object.keys(PROFILE.blocks).join(', ')}`);
    if (keys.found.length > 0) throw refused(`Invalid or duplicate policy keys: ${keys.found.join(', ')}`);
  }
  return rulesOf(blocks);
}

function syntaxOf(text: string): LiteralBody {
  if (Buffer.byteLength(text) > MAX_POLICY_BYTES) throw unparsable(`a policy has at most ${MAX_POLICY_BYTES} bytes`);
  try {
    const file = parseLiteralFile({ name: 'policy', text }, PROFILE);
    checkBlocks(file.blocks);
    return file;
  } catch (error) {
    if (error instanceof JobspecError) throw unparsable(error.message);
    throw error;
  }
}

/** @throws Refusal if there are too many blocks or they are nested too deeply */
function checkBlocks(all: readonly LiteralBlock[]): void {
  let level = all;
  let count = 0;
  for (let depth = 1; level.length > 0; depth++) {
    count += level.length;
    if (count > MAX_POLICY_BLOCKS) throw unparsable(`a policy has at most ${MAX_POLICY_BLOCKS} blocks`);
    if (depth > MAX_POLICY_DEPTH) throw unparsable(`blocks of a policy may be nested ${MAX_POLICY_DEPTH} deep`);
    level = level.flatMap(({ body }) => body.blocks);
  }
}

/** Reads the blocks in the order in which the contract checks them. */
function rulesOf(blocks: ReadonlyMap<string, readonly Members[]>): PolicyRules {
  const all = (type: string): readonly Members[] => blocks.get(type) ?? [];
  /** Strict parsing has already refused a repeated block without label; lenient parsing takes the last one. */
  const last = (type: string): Members | undefined => all(type).at(-1);
  const namespaces = all('namespace').map(namespaceRules);
  const nodePools = all('node_pool').map(nodePoolRules);
  const hostVolumes = all('host_volume').map(hostVolumeRules);
  const agent = levelRules('agent', last('agent'), POLICY_LEVELS);
  const node = levelRules('node', last('node'), POLICY_LEVELS);
  const operator = operatorRules(last('operator'));
  const quota = levelRules('quota', last('quota'), POLICY_LEVELS);
  const plugin = levelRules('plugin', last('plugin'), PLUGIN_LEVELS);
  const sentinel = sentinelRules(last('sentinel'));
  return {
    namespaces,
    nodePools,
    hostVolumes,
    ...(agent && { agent }),
    ...(node && { node }),
    ...(operator && { operator }),
    ...(quota && { quota }),
    ...(plugin && { plugin }),
    ...(sentinel && { sentinel }),
  };
}

function namespaceRules(members: Members): NamespaceRules {
  const { label } = members;
  const name = JSON.stringify(label);
  if (!NAMESPACE_LABEL.test(label))
    throw refused(`Invalid namespace name: ${name} must be 1 to 128 letters, digits, "-" or "*"`);
  const rules = labelledRules(members, {
    known: NAMESPACE_CAPABILITIES,
    shorthands: NAMESPACE_SHORTHANDS,
    implied: IMPLIED_NAMESPACE_CAPABILITIES,
    badLevel: (level) => `Invalid namespace policy: ${JSON.stringify(level)} in namespace ${name}`,
    badCapability: (capability) => `Invalid namespace capability '${capability}': in namespace ${name}`,
  });
  return { ...rules, variables: variableRules(members) };
}

function variableRules({ label: namespace, variables }: Members): VariableRules[] {
  if (variables?.length === 0) throw refused(`Invalid variable policy: no variable paths in namespace ${namespace}`);
  return (variables ?? []).map(({ label: path, capabilities }) => {
    if (path === '') throw refused(`Invalid missing variable path in namespace ${namespace}`);
    if (path.startsWith('/'))
      throw refused(
        `Invalid variable path ${JSON.stringify(path)} in namespace ${namespace}: cannot start with a leading '/'`,
      );
    const named = knownCapabilities(
      capabilities,
      VARIABLE_CAPABILITIES,
      (capability) => `Invalid variable capability '${capability}' in namespace ${namespace}`,
    );
    return { path, capabilities: withImplied(named, IMPLIED_VARIABLE_CAPABILITIES) };
  });
}

function nodePoolRules(members: Members): PolicyRules['nodePools'][number] {
  const { label } = members;
  if (!NODE_POOL_LABEL.test(label)) throw refused(`Invalid node pool name '${label}'`);
  return labelledRules(members, {
    known: NODE_POOL_CAPABILITIES,
    shorthands: NODE_POOL_SHORTHANDS,
    implied: {},
    badLevel: (level) => `Invalid node pool policy '${level}' for '${label}'`,
    badCapability: (capability) => `Invalid node pool capability '${capability}' for '${label}'`,
  });
}

function hostVolumeRules(members: Members): PolicyRules['hostVolumes'][number] {
  const { label } = members;
  const name = JSON.stringify(label);
  if (!HOST_VOLUME_LABEL.test(label))
    throw refused(`Invalid host volume name: ${name} must be 1 to 128 letters, digits, "-" or "*"`);
  return labelledRules(members, {
    known: HOST_VOLUME_CAPABILITIES,
    shorthands: HOST_VOLUME_SHORTHANDS,
    implied: {},
    badLevel: (level) => `Invalid host volume policy: ${JSON.stringify(level)} for ${name}`,
    badCapability: (capability) => `Invalid host volume capability '${capability}': for ${name}`,
  });
}

const operatorRules = (members: Members | undefined): PolicyRules['operator'] =>
  members &&
  blockRules(members, {
    known: OPERATOR_CAPABILITIES,
    shorthands: OPERATOR_SHORTHANDS,
    implied: {},
    badLevel: (level) => `Invalid operator policy: ${JSON.stringify(level)}`,
    badCapability: (capability) => `Invalid operator capability '${capability}'`,
  });

const sentinelRules = (members: Members | undefined): PolicyRules['sentinel'] =>
  members &&
  blockRules(members, {
    known: SENTINEL_CAPABILITIES,
    shorthands: SENTINEL_SHORTHANDS,
    implied: {},
    badLevel: (level) => `Invalid sentinel policy: ${JSON.stringify(level)}`,
    badCapability: (capability) => `Invalid sentinel capability '${capability}'`,
  });

function levelRules<Level extends string>(
  block: string,
  members: Members | undefined,
  levels: readonly Level[],
): LevelRules<Level> | undefined {
  if (!members) return undefined;
  const level = levels.find((one) => one === members.level);
  if (level === undefined)
    throw refused(`Invalid ${block} policy: ${JSON.stringify(members.level ?? '')} is none of ${levels.join(', ')}`);
  return { level };
}

/** Vocabulary has the words that a kind of block may use, and the refusals for other words. */
interface Vocabulary<Capability extends string> {
  readonly known: readonly Capability[];
  readonly shorthands: Shorthands<Capability>;
  readonly implied: Implications<Capability>;
  readonly badLevel: (level: string) => string;
  readonly badCapability: (capability: string) => string;
}

type Implications<Capability extends string> = Readonly<Partial<Record<OrDeny<Capability>, readonly Capability[]>>>;

const labelledRules = <Capability extends string>(
  members: Members,
  vocabulary: Vocabulary<Capability>,
): LabelledRules<Capability> => ({ label: members.label, ...blockRules(members, vocabulary) });

/** Level and capabilities add up (OP-120). */
function blockRules<Capability extends string>(
  members: Members,
  { known, shorthands, implied, badLevel, badCapability }: Vocabulary<Capability>,
): BlockRules<Capability> {
  const level = knownLevel(members.level, badLevel);
  const named = knownCapabilities(members.capabilities, known, badCapability);
  return { level, capabilities: withImplied([...named, ...(level ? shorthands[level] : [])], implied) };
}

/** An empty level counts as no level. */
function knownLevel(level: string | undefined, badLevel: (level: string) => string): PolicyLevel | undefined {
  if (level === undefined || level === '') return undefined;
  const known = POLICY_LEVELS.find((one) => one === level);
  if (known === undefined) throw refused(badLevel(level));
  return known;
}

const knownCapabilities = <Capability extends string>(
  named: readonly string[],
  known: readonly Capability[],
  badCapability: (capability: string) => string,
): OrDeny<Capability>[] =>
  named.map((name) => {
    const capability = name === 'deny' ? name : known.find((one) => one === name);
    if (capability === undefined) throw refused(badCapability(name));
    return capability;
  });

/** Returns the capabilities with those that they imply, each once and in the order of the text (OP-121). */
const withImplied = <Capability extends string>(
  named: readonly OrDeny<Capability>[],
  implied: Implications<Capability>,
): OrDeny<Capability>[] => [...new Set(named.flatMap((one) => [one, ...(implied[one] ?? [])]))];

const unparsable = (why: string): Refusal => refused(`Failed to parse ACL Policy: ${why}`);

const refused = (text: string): Refusal => new Refusal('invalid', text);
