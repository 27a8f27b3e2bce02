import type { Json, JsonObject } from './json.js';

export type AttributeType =
  | 'string'
  | 'integer'
  | 'int8'
  | 'uint8'
  | 'bool'
  | 'strings'
  | 'stringMap'
  | 'stringsMap'
  | 'duration';

export interface AttributeRule {
  /** The JSON key. The block's own `shape` removes keys that start with `$`. */
  readonly json: string;
  readonly type: AttributeType;
  /** Whether an unset attribute is null instead of the zero value of its type. */
  readonly nullable: boolean;
  /** Default of canonicalisation for an unset attribute (JS-170). */
  readonly canonical?: Json;
  /** Default of the parser itself for an unset attribute (JS-157). */
  readonly filled?: Json;
  readonly required?: true;
  /** Whether a message about a wrong type names the attribute (JS-151). */
  readonly named?: true;
}

interface Placed {
  readonly json: string;
  /** Name of the label in messages, which may be empty. Absent if the block has no label. */
  readonly label?: string;
}

/** A nested block. */
export type BlockRule =
  | (Placed & {
      readonly kind: 'object';
      readonly schema: Schema;
      /** JSON key of the label. */
      readonly labelKey?: string;
      readonly many: boolean;
      /** Whether the key is left out, instead of null, if there is no such block (JS-130). */
      readonly omitted?: true;
    })
  /** A body of attributes of one type (JS-114). `assignable` ones may be written as an attribute too (JS-115). */
  | (Placed & { readonly kind: 'map'; readonly type: 'stringMap' | 'stringsMap'; readonly assignable: boolean })
  /** Arbitrary JSON (JS-116). */
  | (Placed & { readonly kind: 'freeform' });

/** Input for a block's own rules: the given values, and a function to refuse them. */
export interface Written {
  /** The set attributes by their HCL names. */
  readonly values: ReadonlyMap<string, Json>;
  /** @param attribute the attribute at whose value the diagnostic points, instead of the block */
  readonly refuse: (summary: string, detail: string, attribute?: string) => void;
}

/** Describes one type of block: names, JSON keys, types, defaults, and rules that a table cannot express. */
export interface Schema {
  readonly attributes: Readonly<Record<string, AttributeRule>>;
  readonly blocks: Readonly<Record<string, BlockRule>>;
  /** Keys that no file can set (JS-130). */
  readonly fixed?: JsonObject;
  /** Converts the JSON of a block whose attributes do not map one to one. */
  readonly shape?: (json: JsonObject, written: Written) => JsonObject;
}

type Options = Pick<AttributeRule, 'canonical' | 'filled' | 'required' | 'named'>;
type Maker = (json: string, options?: Options) => AttributeRule;

const made =
  (type: AttributeType, nullable: boolean): Maker =>
  (json, options = {}) => ({ json, type, nullable, ...options });

/** The types `s`, `i`, `b`, `dur` of jobspec.md §10. `optional` adds its `?`. */
export const text = made('string', false);
export const integer = made('integer', false);
export const bool = made('bool', false);
export const duration = made('duration', false);
export const int8 = made('int8', true);
export const uint8 = made('uint8', false);
export const texts = made('strings', true);
export const textMap = made('stringMap', true);
export const optional = {
  text: made('string', true),
  integer: made('integer', true),
  bool: made('bool', true),
  duration: made('duration', true),
};

export const one = (json: string, schema: Schema): BlockRule => ({ kind: 'object', json, schema, many: false });
export const many = (json: string, schema: Schema): BlockRule => ({ kind: 'object', json, schema, many: true });
/** A repeated block with a label. `name` is the label's name in messages. */
export const labelled = (json: string, schema: Schema, labelKey: string, name = 'name'): BlockRule => ({
  kind: 'object',
  json,
  schema,
  many: true,
  label: name,
  labelKey,
});
export const mapBlock = (json: string, assignable = false): BlockRule => ({
  kind: 'map',
  type: 'stringMap',
  json,
  assignable,
});
export const listsBlock = (json: string): BlockRule => ({ kind: 'map', type: 'stringsMap', json, assignable: false });
export const freeform = (json: string): BlockRule => ({ kind: 'freeform', json });

/** Whether a block may occur only once. */
export const isSingular = (rule: BlockRule): boolean => rule.kind !== 'object' || !rule.many;

/** Returns the value of an attribute that the file does not set. */
export function unsetValue({ nullable, type, filled }: AttributeRule): Json {
  if (filled !== undefined) return filled;
  if (nullable) return null;
  if (type === 'string') return '';
  return type === 'bool' ? false : 0;
}
