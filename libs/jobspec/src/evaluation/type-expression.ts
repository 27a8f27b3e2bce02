import { JobspecError } from '../syntax/diagnostic.js';
import type { Expression } from '../syntax/syntax-tree.js';
import type { Type } from './type.js';

const PRIMITIVES = ['string', 'number', 'bool'] as const;
const COLLECTIONS = ['list', 'set', 'map'] as const;

/** Parses the type in a declaration (JS-72). @throws JobspecError */
export function typeFrom(expression: Expression): Type {
  if (expression.type === 'reference' && expression.steps.length === 0) {
    const primitive = PRIMITIVES.find((name) => name === expression.root);
    if (primitive) return { kind: primitive };
    throw invalid(expression, `The keyword "${expression.root}" is not a valid type specification.`);
  }
  if (expression.type !== 'call')
    throw invalid(
      expression,
      'A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor call, like list(string).',
    );
  const [argument, ...others] = expression.args;
  if (argument === undefined || others.length > 0)
    throw invalid(expression, `The ${expression.name} type constructor requires one argument.`);
  const collection = COLLECTIONS.find((name) => name === expression.name);
  if (collection) return { kind: collection, of: typeFrom(argument) };
  if (expression.name === 'object' && argument.type === 'object')
    return {
      kind: 'object',
      attributes: new Map(argument.items.map(({ key, value }) => [attributeName(key), typeFrom(value)])),
    };
  if (expression.name === 'tuple' && argument.type === 'tuple')
    return { kind: 'tuple', items: argument.items.map(typeFrom) };
  throw invalid(expression, `Keyword "${expression.name}" is not a valid type constructor for this argument.`);
}

function attributeName(key: Expression): string {
  if (key.type === 'literal' && typeof key.value === 'string') return key.value;
  throw invalid(key, 'Object constructor map keys must be attribute names.');
}

function invalid({ source, span }: Expression, detail: string): JobspecError {
  return new JobspecError([{ summary: 'Invalid type specification', detail, at: { source, span } }]);
}
