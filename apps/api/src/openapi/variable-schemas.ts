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

/** Left out: the lock of a variable that has none, or for who may not know of it; the items in a conflict and a release. */
const without = (properties: Readonly<Record<string, t.JsonSchema>>, optional: readonly string[]): t.JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
});

export const VARIABLE_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  VariableMetadata: without(METADATA, ['Lock']),
  VariableDecrypted: without({ ...METADATA, Items: t.mapOf(t.text) }, ['Lock', 'Items']),
};
