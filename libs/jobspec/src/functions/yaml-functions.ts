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

/** Of tokens: a list or a map is three, with its items and what an item consists of. */
const MAX_SYNTAX_NESTING = 3 * MAX_NESTING + 3;

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
  const { parseDocument, Lexer, Parser } = yaml();
  refuseDeepBrackets(new Lexer().lex(text));
  for (const token of new Parser().parse(text)) refuseDeep(token);
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

/** Brackets that are open at a time: known without reading on. */
function refuseDeepBrackets(lexemes: Iterable<string>): void {
  let depth = 0;
  for (const lexeme of lexemes) {
    if (lexeme === '[' || lexeme === '{') depth++;
    if (lexeme === ']' || lexeme === '}') depth--;
    if (depth > MAX_NESTING) throw new FunctionError('the YAML is nested too deeply');
  }
}

/** Before the tree is composed, which is done by recursion: the parser below it keeps a stack of its own. */
function refuseDeep(document: object): void {
  let level: unknown[] = [document];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_SYNTAX_NESTING) throw new FunctionError('the YAML is nested too deeply');
    level = level.flatMap((token) => childrenOf(token));
  }
}

/** Keys, values and items of a token of the YAML parser, and the tokens of an item. */
function childrenOf(token: unknown): unknown[] {
  if (Array.isArray(token)) return token;
  if (typeof token !== 'object' || token === null) return [];
  const { items, key, value } = token as { readonly items?: unknown; readonly key?: unknown; readonly value?: unknown };
  return [items, key, value].filter((child) => typeof child === 'object' && child !== null);
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
