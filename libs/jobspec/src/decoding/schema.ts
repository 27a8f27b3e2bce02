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
  /** The JSON key. Keys that begin with `$` are taken away again by the block's own `shape`. */
  readonly json: string;
  readonly type: AttributeType;
  /** Null when unset; else the zero value of its type. */
  readonly nullable: boolean;
  /** What canonicalisation fills in for an unset one (JS-170). */
  readonly canonical?: Json;
  /** What the parser itself fills in (JS-157). */
  readonly filled?: Json;
  readonly required?: true;
  /** Wrong types are named together with the attribute (JS-151). */
  readonly named?: true;
}

interface Placed {
  readonly json: string;
  /** The name of the label in messages, empty for some; absent: the block has no label. */
  readonly label?: string;
}

/** A block inside another. */
export type BlockRule =
  | (Placed & {
      readonly kind: 'object';
      readonly schema: Schema;
      /** JSON key of the label. */
      readonly labelKey?: string;
      readonly many: boolean;
      /** The key is left out, not null, when there is no such block (JS-130). */
      readonly omitted?: true;
    })
  /** A body of attributes of one type (JS-114); `assignable`: may be written as an attribute too (JS-115). */
  | (Placed & { readonly kind: 'map'; readonly type: 'stringMap' | 'stringsMap'; readonly assignable: boolean })
  /** JSON of any shape (JS-116). */
  | (Placed & { readonly kind: 'freeform' });

/** What only a block's own rules know: what was written, and a way to refuse it. */
export interface Written {
  /** HCL names of the attributes that are set. */
  readonly values: ReadonlyMap<string, Json>;
  /** @param attribute whose value is to be pointed at instead of the block */
  readonly refuse: (summary: string, detail: string, attribute?: string) => void;
}

/** Everything about one type of block: names, JSON keys, types, defaults, and the rules that a table cannot say. */
export interface Schema {
  readonly attributes: Readonly<Record<string, AttributeRule>>;
  readonly blocks: Readonly<Record<string, BlockRule>>;
  /** Keys that no file can set (JS-130). */
  readonly fixed?: JsonObject;
  /** The JSON of a block whose attributes do not go over one by one. */
  readonly shape?: (json: JsonObject, written: Written) => JsonObject;
}

type Options = Pick<AttributeRule, 'canonical' | 'filled' | 'required' | 'named'>;
type Maker = (json: string, options?: Options) => AttributeRule;

const made =
  (type: AttributeType, nullable: boolean): Maker =>
  (json, options = {}) => ({ json, type, nullable, ...options });

/** `s`, `i`, `b`, `dur` of jobspec.md §10; with `optional` its `?`. */
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
/** Repeated, with a label. `name` is what messages call it. */
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

/** Whether a block may occur once only. */
export const isSingular = (rule: BlockRule): boolean => rule.kind !== 'object' || !rule.many;

/** What an attribute is when the file does not say it. */
export function unsetValue({ nullable, type, filled }: AttributeRule): Json {
  if (filled !== undefined) return filled;
  if (nullable) return null;
  if (type === 'string') return '';
  return type === 'bool' ? false : 0;
}
