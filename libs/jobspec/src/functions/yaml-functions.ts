import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { Decimal } from '../evaluation/decimal.js';
import { normalised } from '../evaluation/normal-form.js';
import type { StepBudget } from '../evaluation/step-budget.js';
import { Mapping, Sequence, tuple, type Value } from '../evaluation/value.js';
import { MAX_NESTING } from '../limits.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { nullable, of, onText } from './parameters.js';
import { plainScalar, taggedScalar } from './yaml-scalars.js';

/** Loaded on the first call of one of both functions, because loading it takes longer than parsing most job files. */
const yaml = (): typeof Yaml => createRequire(import.meta.url)('yaml') as typeof Yaml;

/** Deepest nesting of tokens. A list or a map has three levels of tokens: itself, its items, and their content. */
const MAX_SYNTAX_NESTING = 3 * MAX_NESTING + 3;

export const YAML_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  yamlencode: of([nullable('value')], ([value = null], budget) => budget.text(encoded(value))),
  yamldecode: onText((text, budget) => {
    budget.spend(text.length >> 2);
    return new YamlDocument(text, budget).value();
  }),
};

/**
 * Whether a literal block can show the text: several lines, no trailing space in a line, and no character that needs an
 * escape.
 */
const isLiteralBlock = (text: string): boolean =>
  text.includes('\n') && !/ $| \n/u.test(text) && !/[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd]/u.test(text);

/**
 * Encodes YAML in block style, indented by two spaces. Keys and texts are in double quotes, texts of several lines are
 * literal blocks, and numbers have all digits.
 */
function encoded(value: Value): string {
  const { Document, isScalar, visit } = yaml();
  const number: Yaml.ScalarTag = {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    identify: (one) => one instanceof Decimal,
    resolve: (text) => text,
    stringify: ({ value: one }) => String(one),
  };
  const document = new Document(plain(value), { customTags: (tags) => [number, ...tags] });
  visit(document, {
    Scalar: (key, node) => {
      if (key !== 'key' && isScalar(node) && typeof node.value === 'string' && isLiteralBlock(node.value))
        node.type = 'BLOCK_LITERAL';
    },
  });
  const text = document.toString({
    defaultKeyType: 'QUOTE_DOUBLE',
    defaultStringType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
    indentSeq: false,
    lineWidth: 0,
  });
  if (value instanceof Sequence || value instanceof Mapping) return text;
  if (typeof value !== 'string') return `${text}...\n`; // As libyaml ends a document that is one plain scalar.
  return isLiteralBlock(value) ? text.replaceAll(/\n(?=[^\n])/gu, '\n  ') : text;
}

/** Converts a value to arrays, objects and tagged numbers for the library. */
function plain(value: Value): unknown {
  if (value instanceof Sequence) return value.items.map(plain);
  if (value instanceof Mapping) return new Map([...value.entries].map(([key, item]) => [key, plain(item)]));
  return value;
}

/** Steps of an alias in addition to those of its target. No document needs ten thousand aliases. */
const ALIAS_STEPS = 100;

const TAG = 'tag:yaml.org,2002:';

/**
 * A YAML 1.1 document, decoded like the reference: its words for true and false, times and merge keys are supported.
 * Numbers are those of YAML 1.2, with all digits. Of a repeated key, the last value counts. Each node costs steps of
 * the budget, again for every alias of it, so a short text cannot expand to gigabytes.
 */
class YamlDocument {
  private readonly yaml = yaml();
  private readonly document: Yaml.Document;
  /** Anchored nodes whose decoding is in progress. An alias to one of them would never end. */
  private readonly open = new Set<Yaml.Node>();

  /** @throws FunctionError */
  constructor(
    text: string,
    private readonly budget: StepBudget,
  ) {
    refuseDeepBrackets(new this.yaml.Lexer().lex(text));
    for (const token of new this.yaml.Parser().parse(text)) refuseDeep(token);
    this.document = this.yaml.parseDocument(text, {
      logLevel: 'error',
      prettyErrors: false,
      schema: 'failsafe',
      uniqueKeys: false,
    });
    const [error] = this.document.errors;
    if (error) throw new FunctionError(error.message);
  }

  /** @throws FunctionError */
  value(): Value {
    const { contents } = this.document;
    if (contents === null) throw new FunctionError('on line 1, column 1: missing start of document');
    return this.valueOf(contents, MAX_NESTING);
  }

  private valueOf(node: unknown, depth: number): Value {
    const { isAlias, isMap, isScalar, isSeq } = this.yaml;
    this.budget.spend(1);
    if (depth === 0) throw new FunctionError('the YAML is nested too deeply');
    if (isAlias(node)) return this.aliased(node, depth);
    if (isScalar(node)) return scalar(node);
    if (isSeq(node)) {
      checkKind(node.tag, 'seq', 'sequence');
      return this.reading(node, () => tuple(node.items.map((item) => this.valueOf(item, depth - 1))));
    }
    if (isMap(node)) {
      checkKind(node.tag, 'map', 'mapping');
      return this.reading(node, () => new Mapping('object', this.entries(node, depth - 1)));
    }
    return null;
  }

  private aliased(alias: Yaml.Alias, depth: number): Value {
    this.budget.spend(ALIAS_STEPS);
    const node = alias.resolve(this.document);
    if (!node) throw new FunctionError(`reference to undefined anchor "${alias.source}"`);
    if (this.open.has(node))
      throw new FunctionError(`cannot refer to anchor "${alias.source}" from inside its own definition`);
    return this.valueOf(node, depth);
  }

  private reading<T>(node: Yaml.Node, read: () => T): T {
    this.open.add(node);
    try {
      return read();
    } finally {
      this.open.delete(node);
    }
  }

  /** Returns the entries of a map. Its own keys precede merged ones, in any order. */
  private entries(map: Yaml.YAMLMap, depth: number): [string, Value][] {
    const merged: [string, Value][] = [];
    const own: [string, Value][] = [];
    for (const { key, value } of map.items) {
      if (this.yaml.isScalar(key) && key.type === 'PLAIN' && key.source === '<<')
        for (const item of this.merged(value, depth)) merged.push(item);
      else own.push([keyText(this.valueOf(key, depth)), this.valueOf(value, depth)]);
    }
    return [...merged, ...own];
  }

  private merged(node: unknown, depth: number): [string, Value][] {
    const value = this.valueOf(node, depth);
    const sources = value instanceof Sequence ? value.items : [value];
    return sources.flatMap((source) => {
      if (source instanceof Mapping) return [...source.entries];
      throw new FunctionError('only a mapping can be merged into a mapping');
    });
  }
}

/** Refuses deeply nested brackets before the text is parsed. */
function refuseDeepBrackets(lexemes: Iterable<string>): void {
  let depth = 0;
  for (const lexeme of lexemes) {
    if (lexeme === '[' || lexeme === '{') depth++;
    if (lexeme === ']' || lexeme === '}') depth--;
    if (depth > MAX_NESTING) throw new FunctionError('the YAML is nested too deeply');
  }
}

/** Refuses deep nesting before the library composes the tree recursively. The parser below uses a stack of its own. */
function refuseDeep(document: object): void {
  let level: unknown[] = [document];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_SYNTAX_NESTING) throw new FunctionError('the YAML is nested too deeply');
    level = level.flatMap((token) => childrenOf(token));
  }
}

/** Returns keys, values and items of a token of the YAML parser, and the tokens of an item. */
function childrenOf(token: unknown): unknown[] {
  if (Array.isArray(token)) return token;
  if (typeof token !== 'object' || token === null) return [];
  const { items, key, value } = token as { readonly items?: unknown; readonly key?: unknown; readonly value?: unknown };
  return [items, key, value].filter((child) => typeof child === 'object' && child !== null);
}

function scalar({ source = '', tag, type, value }: Yaml.Scalar): Value {
  const text = normalised(typeof value === 'string' ? value : source);
  if (tag === undefined) return type === 'PLAIN' ? plainScalar(text) : text;
  const known = tag.startsWith(TAG) ? taggedScalar(text, tag.slice(TAG.length), type === 'PLAIN') : undefined;
  if (known === undefined) throw new FunctionError(`unsupported tag "${tag}"`);
  return known;
}

function keyText(key: Value): string {
  if (key === null) throw new FunctionError('mapping key cannot be null');
  if (key instanceof Sequence || key instanceof Mapping)
    throw new FunctionError('only strings are allowed as mapping keys');
  return String(key);
}

function checkKind(tag: string | undefined, kind: string, name: string): void {
  if (tag !== undefined && tag !== TAG + kind) throw new FunctionError(`can't interpret ${name} as ${tag}`);
}
