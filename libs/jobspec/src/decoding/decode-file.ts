import type { Evaluator } from '../evaluation/evaluator.js';
import { Scope } from '../evaluation/scope.js';
import { JobspecError } from '../syntax/diagnostic.js';
import type { Body } from '../syntax/syntax-tree.js';
import { BlockDecoder } from './block-decoder.js';
import type { JsonObject } from './json.js';
import type { Schema } from './schema.js';

/**
 * Decodes a whole file, which is one body without variables, into the API's form.
 * @param what name of the file's kind in messages
 * @throws JobspecError with all diagnostics
 */
export function decodeFile(what: string, schema: Schema, body: Body, evaluator: Evaluator): JsonObject {
  const decoder = new BlockDecoder(evaluator);
  const openSpan = { start: 0, end: 0 };
  const file = { type: what, typeSpan: openSpan, labels: [], openSpan, body, scope: Scope.EMPTY };
  const decoded = decoder.decode(schema, file);
  if (decoder.diagnostics.length > 0) throw new JobspecError(decoder.diagnostics);
  return decoded;
}
