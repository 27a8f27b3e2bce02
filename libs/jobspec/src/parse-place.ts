import { decodeFile } from './decoding/decode-file.js';
import type { Json, JsonObject } from './decoding/json.js';
import { namespaceSchema, poolsSchema } from './decoding/place-schema.js';
import type { Schema } from './decoding/schema.js';
import { variableSchema } from './decoding/variable-schema.js';
import { Evaluator } from './evaluation/evaluator.js';
import { StepBudget } from './evaluation/step-budget.js';
import { functionTable } from './functions/functions.js';
import type { TextFile } from './parse-job.js';
import { parseBody } from './syntax/body-parser.js';
import { SourceText } from './syntax/source-text.js';
import type { Body } from './syntax/syntax-tree.js';

/** Parses a namespace from HCL into the API's form. @throws JobspecError */
export const parseNamespace = (file: TextFile): JsonObject => decodeFlat('namespace', namespaceSchema, file);

/** Parses a variable from HCL into the API's form. @throws JobspecError */
export const parseVariable = (file: TextFile): JsonObject => decodeFlat('variable', variableSchema, file);

/** Parses node pools from HCL into the API's form. @throws JobspecError */
export function parseNodePools(file: TextFile): readonly JsonObject[] {
  const pools: Json | undefined = decodeFlat('file', poolsSchema, file)['Pools'];
  return Array.isArray(pools) ? (pools as JsonObject[]) : [];
}

/**
 * Decodes a file that is one body without variables.
 * @param what name of the file's kind in messages
 * @param bodyOf parses its text
 * @throws JobspecError
 */
export const decodeFlat = (
  what: string,
  schema: Schema,
  { name, text }: TextFile,
  bodyOf: (source: SourceText, schema: Schema) => Body = parseBody,
): JsonObject =>
  decodeFile(
    what,
    schema,
    bodyOf(new SourceText(name, text), schema),
    new Evaluator(functionTable(undefined), new StepBudget()),
  );
