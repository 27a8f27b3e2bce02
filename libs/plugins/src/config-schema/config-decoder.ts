import {
  ConversionError,
  convert,
  Decimal,
  list,
  Mapping,
  Sequence,
  tuple,
  type Type,
  type Value,
} from '@waybill/jobspec';
import type { ConfigFault } from '../config-fault.js';
import { type ConfigPart, namesOf } from './config-part.js';

/** The `config` block does not fit the plugin's schema (PG-43). The message has one line per fault. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly ConfigFault[]) {
    super(faults.map(({ message }) => message).join('\n'));
  }
}

/** The deepest nesting of a configuration. */
const MAX_CONFIG_DEPTH = 256;

type Body = Readonly<Record<string, unknown>>;

interface LabelledBody {
  readonly labels: readonly string[];
  readonly body: Body;
}

/**
 * Decodes a configuration by its schema, as the reference's library does. It collects all faults.
 *
 * A block may come as an object or as a list of objects. Null counts as absent for blocks.
 */
export class ConfigDecoder {
  private readonly faults: ConfigFault[] = [];
  /** The keys of the blocks that are being decoded. */
  private path: readonly string[] = [];

  /** @param accepts which values are accepted without a look at their type, and count as null */
  constructor(private readonly accepts: (given: unknown) => boolean = () => false) {}

  /** @throws ConfigError */
  decode(part: ConfigPart, config: Body): Value {
    const value = this.body(part, config);
    if (this.faults.length > 0) throw new ConfigError(this.faults);
    return value;
  }

  private body(part: ConfigPart, body: Body): Value {
    const known = new Set(namesOf(part));
    for (const name of Object.keys(body))
      if (!known.has(name))
        this.fault(`Invalid argument name; No argument or block type is named ${JSON.stringify(name)}.`, name);
    return this.value(part, body);
  }

  private value(part: ConfigPart, body: Body): Value {
    switch (part.kind) {
      case 'object':
        return new Mapping(
          'object',
          [...part.attributes].map(([name, inner]) => [name, this.value(inner, body)]),
        );
      case 'array':
        return tuple(part.values.map((inner) => this.value(inner, body)));
      case 'attribute':
        return this.attribute(part, body);
      case 'block':
        return this.block(part, body);
      case 'block-attributes':
        return this.blockAttributes(part, body);
      case 'block-list':
      case 'block-set':
        return this.blockList(part, body);
      case 'block-map':
        return this.blockMap(part, body);
      case 'default': {
        const value = this.value(part.primary, body);
        return value === null ? this.value(part.otherwise, body) : value;
      }
      case 'literal':
      default:
        return part.value;
    }
  }

  private attribute({ name, type, required }: Extract<ConfigPart, { kind: 'attribute' }>, body: Body): Value {
    const given = Object.hasOwn(body, name) ? body[name] : undefined;
    if (given === undefined) {
      if (required)
        this.fault(`Missing required argument; The argument "${name}" is required, but no definition was found.`);
      return null;
    }
    return this.converted(given, type, [name], (reason) => {
      return `Incorrect attribute value type; Inappropriate value for attribute "${name}": ${reason}.`;
    });
  }

  private block({ name, required, nested }: Extract<ConfigPart, { kind: 'block' }>, body: Body): Value {
    const block = this.singleBlock(name, required, body);
    return block ? this.inside([name], () => this.body(nested, block)) : null;
  }

  private blockAttributes(part: Extract<ConfigPart, { kind: 'block-attributes' }>, body: Body): Value {
    const { name, type, required } = part;
    const block = this.singleBlock(name, required, body);
    if (!block) return null;
    const entries = Object.entries(block).map(([key, given]): [string, Value] => [
      key,
      this.converted(given, type, [name, key], (reason) => {
        return `Invalid attribute value; Invalid value for attribute of "${name}" block: ${reason}.`;
      }),
    ]);
    return new Mapping('map', entries);
  }

  private singleBlock(name: string, required: boolean, body: Body): Body | undefined {
    const blocks = this.blocks(name, 0, body);
    if (blocks.length > 1) this.fault(`Duplicate ${name} block; Only one block of type "${name}" is allowed.`, name);
    if (blocks.length === 0 && required)
      this.fault(`Missing ${name} block; A block of type "${name}" is required here.`);
    return blocks[0]?.body;
  }

  private blockList(part: Extract<ConfigPart, { kind: 'block-list' | 'block-set' }>, body: Body): Value {
    const { kind, name, min, max, nested } = part;
    const blocks = this.blocks(name, 0, body);
    if (blocks.length < min)
      this.fault(`Insufficient ${name} blocks; At least ${min} "${name}" blocks are required.`, name);
    if (max > 0 && blocks.length > max)
      this.fault(`Too many ${name} blocks; No more than ${max} "${name}" blocks are allowed`, name);
    const items = blocks.map((block, at) => this.inside([name, String(at)], () => this.body(nested, block.body)));
    return kind === 'block-list' ? list(items) : blockSet(items);
  }

  private blockMap(part: Extract<ConfigPart, { kind: 'block-map' }>, body: Body): Value {
    const { name, labels, nested } = part;
    const tree = new Map<string, Tree>();
    for (const block of this.blocks(name, labels.length, body)) {
      const value = this.inside([name, ...block.labels], () => this.body(nested, block.body));
      if (!placed(tree, block.labels, value)) {
        const label = block.labels.at(-1) ?? '';
        this.fault(
          `Duplicate ${name} block; A block for ${name} "${label}" was already defined. The ${name} labels must be unique.`,
          name,
        );
      }
    }
    return mappingOf(tree);
  }

  /** Returns the blocks of a name. Each level of labels is an object whose keys are the labels. */
  private blocks(name: string, labels: number, body: Body): LabelledBody[] {
    const given = Object.hasOwn(body, name) ? body[name] : undefined;
    return given === undefined || given === null ? [] : this.labelled(name, given, labels, []);
  }

  private labelled(name: string, given: unknown, left: number, labels: readonly string[]): LabelledBody[] {
    const bodies = Array.isArray(given) ? (given as unknown[]) : [given];
    return bodies.flatMap((body) => {
      if (!isBody(body)) {
        this.fault(
          `Incorrect JSON value type; Either a JSON object or a JSON array is required, representing the contents of one or more "${name}" blocks.`,
          name,
        );
        return [];
      }
      if (left === 0) return [{ labels, body }];
      return Object.entries(body).flatMap(([label, inner]) => this.labelled(name, inner, left - 1, [...labels, label]));
    });
  }

  private converted(given: unknown, type: Type, path: readonly string[], fault: (reason: string) => string): Value {
    if (this.accepts(given)) return null;
    try {
      return convert(valueOf(given), type);
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
      this.fault(fault(error.message), ...path);
      return null;
    }
  }

  private inside(keys: readonly string[], decode: () => Value): Value {
    const outer = this.path;
    this.path = [...outer, ...keys];
    const value = decode();
    this.path = outer;
    return value;
  }

  /** Notes a fault. A body that lacks a key is at the path of the body. */
  private fault(message: string, ...keys: readonly string[]): void {
    this.faults.push({ path: [...this.path, ...keys], message });
  }
}

const isBody = (given: unknown): given is Body => typeof given === 'object' && given !== null && !Array.isArray(given);

/** Converts JSON to a value. Integers beyond 2^53 come as bigint. @throws ConversionError for anything else */
function valueOf(given: unknown, depth = 0): Value {
  if (depth > MAX_CONFIG_DEPTH) throw new ConversionError(`a value is nested more than ${MAX_CONFIG_DEPTH} deep`);
  if (given === null || typeof given === 'string' || typeof given === 'boolean') return given;
  if (typeof given === 'number') return Decimal.ofDouble(given);
  if (typeof given === 'bigint') return Decimal.of(given);
  if (Array.isArray(given)) return tuple(given.map((item) => valueOf(item, depth + 1)));
  if (!isBody(given)) throw new ConversionError(`a value of JSON is required, but have ${typeof given}`);
  return new Mapping(
    'object',
    Object.entries(given).map(([key, item]) => [key, valueOf(item, depth + 1)]),
  );
}

/** Sorts and unites equal blocks. The order has no meaning, but has to be the same each time. */
function blockSet(items: readonly Value[]): Value {
  const byText = new Map(items.map((item) => [textOf(item), item]));
  return new Sequence(
    'set',
    [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item),
  );
}

function textOf(value: Value): string {
  if (value instanceof Sequence) return `[${value.items.map(textOf).join(',')}]`;
  if (value instanceof Mapping)
    return `{${[...value.entries].map(([key, item]) => `${JSON.stringify(key)}:${textOf(item)}`).join(',')}}`;
  return value instanceof Decimal ? value.toString() : JSON.stringify(value);
}

type Tree = Map<string, Tree> | { readonly value: Value };

/** Puts a value below its labels. @returns false if there is one already */
function placed(tree: Map<string, Tree>, [label = '', ...rest]: readonly string[], value: Value): boolean {
  const found = tree.get(label);
  if (rest.length === 0) {
    if (found === undefined) tree.set(label, { value });
    return found === undefined;
  }
  const inner = found ?? new Map<string, Tree>();
  tree.set(label, inner);
  return inner instanceof Map && placed(inner, rest, value);
}

const mappingOf = (tree: ReadonlyMap<string, Tree>): Mapping =>
  new Mapping(
    'map',
    [...tree].map(([label, inner]) => [label, inner instanceof Map ? mappingOf(inner) : inner.value]),
  );
