import * as t from './schema.js';

const lock = t.plain({ ID: t.text, TTL: t.text, LockDelay: t.text });

const METADATA = {
  Namespace: t.text,
  Path: t.text,
  Lock: lock,
  CreateIndex: t.uint,
  CreateTime: t.ns,
  ModifyIndex: t.uint,
  ModifyTime: t.ns,
};

/**
 * Describes an object with optional members: the lock, if there is none or the caller may not see it, and the items in
 * a conflict and a release.
 */
const without = (properties: Readonly<Record<string, t.JsonSchema>>, optional: readonly string[]): t.JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});

export const VARIABLE_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  VariableMetadata: without(METADATA, ['Lock']),
  VariableDecrypted: without({ ...METADATA, Items: t.mapOf(t.text) }, ['Lock', 'Items']),
};
