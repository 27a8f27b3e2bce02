import type { Json, LiteralBlock, LiteralBody } from '@waybill/jobspec';
import { Refusal } from '@waybill/model';

/** Members are the contents of a block. Their types are checked and nothing else. */
export interface Members {
  /** The label is empty for a block without one (OP-129). */
  readonly label: string;
  readonly level: string | undefined;
  readonly capabilities: readonly string[];
  /** The list is undefined if there is no block `variables`. */
  readonly variables: readonly Members[] | undefined;
}

/** BlockShape says what a type of block may hold. */
interface BlockShape {
  readonly isLabelled: boolean;
  readonly attributes: readonly string[];
  readonly blocks: readonly string[];
}

const RULES = ['policy', 'capabilities'];

const SHAPES: Readonly<Record<string, BlockShape>> = {
  namespace: { isLabelled: true, attributes: RULES, blocks: ['variables'] },
  node_pool: { isLabelled: true, attributes: RULES, blocks: [] },
  host_volume: { isLabelled: true, attributes: RULES, blocks: [] },
  operator: { isLabelled: false, attributes: RULES, blocks: [] },
  sentinel: { isLabelled: false, attributes: RULES, blocks: [] },
  agent: { isLabelled: false, attributes: ['policy'], blocks: [] },
  node: { isLabelled: false, attributes: ['policy'], blocks: [] },
  quota: { isLabelled: false, attributes: ['policy'], blocks: [] },
  plugin: { isLabelled: false, attributes: ['policy'], blocks: [] },
};
const VARIABLES: BlockShape = { isLabelled: false, attributes: [], blocks: ['path'] };
const PATH: BlockShape = { isLabelled: true, attributes: ['capabilities'], blocks: [] };

const NOTHING: LiteralBody = { attributes: [], blocks: [] };

/** PolicyKeys collects the keys of a policy that have no meaning or that are repeated where one is allowed (OP-129). */
export class PolicyKeys {
  readonly found: string[] = [];
  private readonly unlabelled = new Set<string>();

  /** @param where the block that holds the attributes; undefined at the top level */
  reportAttributes({ attributes }: LiteralBody, known: readonly string[], where: string | undefined): void {
    const seen = new Set<string>();
    for (const { name } of attributes) {
      if (!known.includes(name) || seen.has(name)) this.report(name, where);
      seen.add(name);
    }
  }

  reportBlocks({ blocks }: LiteralBody, known: readonly string[], where: string): void {
    for (const { type } of blocks) if (!known.includes(type)) this.report(type, where);
  }

  /** Reports the second and every later top-level block of a type without label. */
  countUnlabelled(type: string): void {
    if (this.unlabelled.has(type)) this.report(type, undefined);
    this.unlabelled.add(type);
  }

  report(name: string, where: string | undefined): void {
    this.found.push(where === undefined ? name : `${name} in ${where}`);
  }
}

/**
 * Reads the members of a block. The result is undefined if the block has no meaning. @throws Refusal for a member of a
 * wrong type
 */
export function membersOf(block: LiteralBlock, keys: PolicyKeys): Members | undefined {
  const shape = Object.hasOwn(SHAPES, block.type) ? SHAPES[block.type] : undefined;
  if (!shape) {
    keys.report(block.type, undefined);
    return undefined;
  }
  if (!shape.isLabelled) keys.countUnlabelled(block.type);
  const members = shapedMembers(block, shape, keys, undefined);
  return isMislabelled(block, shape) ? undefined : members;
}

const isMislabelled = ({ labels }: LiteralBlock, { isLabelled }: BlockShape): boolean =>
  !isLabelled && labels.length > 0;

function shapedMembers(
  { type, labels, body: written }: LiteralBlock,
  shape: BlockShape,
  keys: PolicyKeys,
  outer: string | undefined,
): Members {
  const [label = '', ...surplus] = shape.isLabelled ? labels : ['', ...labels];
  // Further labels stand for a nested block, which has no meaning here.
  const body = surplus.length === 0 ? written : NOTHING;
  const own = shape.isLabelled ? `${type} ${JSON.stringify(label)}` : type;
  const where = outer === undefined ? own : `${own} in ${outer}`;
  for (const name of surplus) keys.report(name, where);
  keys.reportAttributes(body, shape.attributes, where);
  keys.reportBlocks(body, shape.blocks, where);
  const valueOf = (name: string): Json | undefined =>
    shape.attributes.includes(name) ? body.attributes.findLast((one) => one.name === name)?.value : undefined;
  return {
    label,
    level: textOf(valueOf('policy'), where),
    capabilities: textsOf(valueOf('capabilities'), where),
    variables: shape.blocks.includes('variables') ? pathsOf(body, keys, where) : undefined,
  };
}

/** Returns the paths of all blocks `variables`. It reports a second block; lenient parsing uses it all the same. */
function pathsOf({ blocks }: LiteralBody, keys: PolicyKeys, where: string): Members[] | undefined {
  const all = blocks.filter(({ type }) => type === 'variables');
  for (const { type } of all.slice(1)) keys.report(type, where);
  for (const block of all) shapedMembers(block, VARIABLES, keys, where);
  const counting = all.filter((block) => !isMislabelled(block, VARIABLES));
  if (counting.length === 0) return undefined;
  const paths = counting.flatMap(({ body }) => body.blocks.filter(({ type }) => type === 'path'));
  return paths.map((path) => shapedMembers(path, PATH, keys, where));
}

function textOf(value: Json | undefined, where: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw wrongType('policy', 'a string', where);
}

function textsOf(value: Json | undefined, where: string): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw wrongType('capabilities', 'a list of strings', where);
}

const wrongType = (name: string, type: string, where: string): Refusal =>
  new Refusal('invalid', `Failed to parse ACL Policy: ${name} in ${where} must be ${type}`);
