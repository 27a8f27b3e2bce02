import { parseConstant, parseType, type Type, type Value } from '@waybill/jobspec';
import type { SpecMessage } from './spec-message.js';

/** The deepest nesting of a schema. A plugin that sends a deeper one is refused. */
export const MAX_SCHEMA_DEPTH = 64;

/** The functions that literals of a schema may call (PG-42). */
const FUNCTIONS: ReadonlySet<string> = new Set([
  'abs',
  'coalesce',
  'concat',
  'hasindex',
  'int',
  'jsondecode',
  'jsonencode',
  'length',
  'lower',
  'max',
  'min',
  'reverse',
  'strlen',
  'substr',
  'upper',
]);

/** A part of a schema with its types and literals parsed. */
export type ConfigPart =
  | { readonly kind: 'object'; readonly attributes: ReadonlyMap<string, ConfigPart> }
  | { readonly kind: 'array'; readonly values: readonly ConfigPart[] }
  | { readonly kind: 'attribute'; readonly name: string; readonly type: Type; readonly required: boolean }
  | { readonly kind: 'block'; readonly name: string; readonly required: boolean; readonly nested: ConfigPart }
  | { readonly kind: 'block-attributes'; readonly name: string; readonly type: Type; readonly required: boolean }
  | {
      readonly kind: 'block-list' | 'block-set';
      readonly name: string;
      readonly min: number;
      /** 0 means unlimited. */
      readonly max: number;
      readonly nested: ConfigPart;
    }
  | {
      readonly kind: 'block-map';
      readonly name: string;
      readonly labels: readonly string[];
      readonly nested: ConfigPart;
    }
  | { readonly kind: 'default'; readonly primary: ConfigPart; readonly otherwise: ConfigPart }
  | { readonly kind: 'literal'; readonly value: Value };

/** A plugin's schema is not one. */
export class InvalidSchemaError extends Error {
  override readonly name = 'InvalidSchemaError';
}

/**
 * Parses a schema. A name that is left out is the key of the enclosing object (PG-42).
 * @throws InvalidSchemaError, JobspecError for a type or a literal
 */
export function configPart(spec: SpecMessage | null | undefined, key = '', depth = 0): ConfigPart {
  if (depth > MAX_SCHEMA_DEPTH) throw new InvalidSchemaError(`the schema is nested more than ${MAX_SCHEMA_DEPTH} deep`);
  if (!spec) throw new InvalidSchemaError('the schema lacks a part');
  const nameOr = (name: string | undefined): string => name || key;
  const nested = (part: SpecMessage | null | undefined): ConfigPart => configPart(part, '', depth + 1);
  if (spec.object) {
    const entries = Object.entries(spec.object.attributes ?? {});
    return {
      kind: 'object',
      attributes: new Map(entries.map(([name, part]) => [name, configPart(part, name, depth + 1)])),
    };
  }
  if (spec.array) return { kind: 'array', values: (spec.array.values ?? []).map(nested) };
  if (spec.Attr) {
    const { name, type = '', required = false } = spec.Attr;
    return { kind: 'attribute', name: nameOr(name), type: parseType(type), required };
  }
  if (spec.block_value) {
    const { name, required = false, nested: inner } = spec.block_value;
    return { kind: 'block', name: nameOr(name), required, nested: nested(inner) };
  }
  if (spec.block_attrs) {
    const { name, type = '', required = false } = spec.block_attrs;
    return { kind: 'block-attributes', name: nameOr(name), type: parseType(type), required };
  }
  const counted = spec.block_list ?? spec.block_set;
  if (counted)
    return {
      kind: spec.block_list ? 'block-list' : 'block-set',
      name: nameOr(counted.name),
      min: Number(counted.min_items ?? 0),
      max: Number(counted.max_items ?? 0),
      nested: nested(counted.nested),
    };
  if (spec.block_map) {
    const { name, labels = [], nested: inner } = spec.block_map;
    if (labels.length === 0) throw new InvalidSchemaError('a block_map of the schema has no labels');
    return { kind: 'block-map', name: nameOr(name), labels, nested: nested(inner) };
  }
  if (spec.default)
    return {
      kind: 'default',
      primary: configPart(spec.default.primary, key, depth + 1),
      otherwise: configPart(spec.default.default, key, depth + 1),
    };
  if (spec.literal) return { kind: 'literal', value: parseConstant(spec.literal.value ?? '', FUNCTIONS) };
  throw new InvalidSchemaError('a part of the schema is of no known kind');
}

/** Returns the names that a body with this schema may contain. */
export function namesOf(part: ConfigPart): string[] {
  switch (part.kind) {
    case 'object':
      return [...part.attributes.values()].flatMap(namesOf);
    case 'array':
      return part.values.flatMap(namesOf);
    case 'default':
      return [...namesOf(part.primary), ...namesOf(part.otherwise)];
    case 'literal':
      return [];
    default:
      return [part.name];
  }
}
