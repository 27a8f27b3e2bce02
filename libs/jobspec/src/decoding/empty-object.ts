import type { JsonObject } from './json.js';
import { type Schema, unsetValue, type Written } from './schema.js';

const NOTHING_WRITTEN: Written = { values: new Map(), refuse: () => undefined };

/** Returns the JSON of an empty block: every key with its unset value (JS-130). */
export function emptyOf(schema: Schema): JsonObject {
  return schema.shape ? schema.shape(unshapedOf(schema), NOTHING_WRITTEN) : unshapedOf(schema);
}

/** Returns the JSON of an empty block before the block's own rules are applied. */
export function unshapedOf(schema: Schema): JsonObject {
  const made = templates.get(schema) ?? templateOf(schema);
  templates.set(schema, made);
  return { ...made };
}

/** One template per schema, created on first use. */
const templates = new WeakMap<Schema, JsonObject>();

function templateOf({ attributes, blocks, fixed }: Schema): JsonObject {
  const kept = Object.values(blocks).filter((rule) => rule.kind !== 'object' || rule.omitted !== true);
  return {
    ...fixed,
    ...Object.fromEntries(Object.values(attributes).map((rule) => [rule.json, unsetValue(rule)])),
    ...Object.fromEntries(kept.map((rule) => [rule.json, null])),
  };
}
