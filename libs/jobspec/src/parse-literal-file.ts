import { bodyOfJson, type JsonProfile } from './decoding/json-profile.js';
import { type Json, jsonOf } from './decoding/json.js';
import { ConversionError } from './evaluation/type.js';
import type { TextFile } from './parse-job.js';
import { parseFreeBody } from './syntax/body-parser.js';
import { JobspecError } from './syntax/diagnostic.js';
import { SourceText } from './syntax/source-text.js';
import type { Body, Expression } from './syntax/syntax-tree.js';

export type { JsonProfile };

/** Content of a file of literals, or of a block. Both lists are in the file's order. */
export interface LiteralBody {
  /** A name occurs as often as it was set. */
  readonly attributes: readonly { readonly name: string; readonly value: Json }[];
  readonly blocks: readonly LiteralBlock[];
}

export interface LiteralBlock {
  readonly type: string;
  readonly labels: readonly string[];
  readonly body: LiteralBody;
}

/**
 * Parses a file in HCL with the free layout of HCL 1, or in HCL's JSON profile if it starts with a brace. Values are
 * literals: expressions, functions, references and templates are refused. In JSON, strings are those of JSON: `${` is text.
 * @param profile names of blocks, because JSON does not distinguish them
 */
export function parseLiteralFile({ name, text }: TextFile, profile: JsonProfile): LiteralBody {
  const source = new SourceText(name, text);
  const isJson = source.text.trimStart().startsWith('{');
  return literalBody(isJson ? bodyOfJson(source, profile, 'json') : parseFreeBody(source));
}

const literalBody = ({ attributes, blocks }: Body): LiteralBody => ({
  attributes: attributes.map(({ name, value }) => ({ name, value: literalOf(value) })),
  blocks: blocks.map(({ type, labels, body }) => ({
    type,
    labels: labels.map(({ text }) => text),
    body: literalBody(body),
  })),
});

function literalOf(expression: Expression): Json {
  if (expression.type === 'tuple') return expression.items.map(literalOf);
  if (expression.type !== 'literal') throw failure(expression, 'Only literal values are allowed here.');
  try {
    return jsonOf(expression.value);
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw failure(expression, `Unsuitable value: ${error.message}.`);
  }
}

const failure = ({ source, span }: Expression, detail: string): JobspecError =>
  new JobspecError([{ summary: 'Unsuitable value', detail, at: { source, span } }], true);
