import { createRequire } from 'node:module';
import { type Json, jsonOf } from '../decoding/json.js';
import { Decimal } from '../evaluation/decimal.js';
import { Mapping, tuple, type Value } from '../evaluation/value.js';
import { MAX_NESTING } from '../limits.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { nullable, of, onText } from './parameters.js';

/** Loaded by the first file that calls one of the two: it takes longer to load than most job files to parse. */
const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml') as typeof import('yaml');

/** `*name` that may be followed in one text, so that a short one cannot unfold into gigabytes. */
const MAX_ALIASES = 100;

export const YAML_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  yamlencode: of([nullable('value')], ([value = null], budget) => budget.text(encoded(jsonOf(value)))),
  yamldecode: onText((text, budget) => {
    budget.spend(text.length >> 2);
    return decoded(text);
  }),
};

/** Blocks, two spaces in; keys and texts in double quotes, texts of several lines as literal blocks. */
function encoded(json: Json): string {
  const { Document, isScalar, visit } = yaml();
  const document = new Document(json);
  visit(document, {
    Scalar: (key, node) => {
      if (key !== 'key' && isScalar(node) && typeof node.value === 'string' && node.value.includes('\n'))
        node.type = 'BLOCK_LITERAL';
    },
  });
  return document.toString({
    defaultKeyType: 'QUOTE_DOUBLE',
    defaultStringType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
    indentSeq: false,
    lineWidth: 0,
  });
}

function decoded(text: string): Value {
  const { parseDocument } = yaml();
  const document = parseDocument(text, { intAsBigInt: true, logLevel: 'error', prettyErrors: false });
  const [error] = document.errors;
  if (error) throw new FunctionError(error.message);
  let plain: unknown;
  try {
    plain = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (unfolding) {
    throw new FunctionError(unfolding instanceof Error ? unfolding.message : String(unfolding));
  }
  return valueOf(plain, MAX_NESTING);
}

function valueOf(plain: unknown, depth: number): Value {
  if (depth === 0) throw new FunctionError('the YAML is nested too deeply');
  if (plain === null || plain === undefined) return null;
  if (typeof plain === 'string' || typeof plain === 'boolean') return plain;
  if (typeof plain === 'bigint') return Decimal.parse(String(plain)) ?? null;
  if (typeof plain === 'number' && Number.isFinite(plain)) return Decimal.ofDouble(plain);
  if (Array.isArray(plain)) return tuple(plain.map((item: unknown) => valueOf(item, depth - 1)));
  if (typeof plain !== 'object') throw new FunctionError(`a ${typeof plain} has no counterpart in this language`);
  return new Mapping(
    'object',
    Object.entries(plain).map(([key, item]: [string, unknown]) => [key, valueOf(item, depth - 1)]),
  );
}
