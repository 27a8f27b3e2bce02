import { MAX_EVALUATION_DEPTH } from '../limits.js';
import { JobspecError } from './diagnostic.js';
import type { Expression, Reference, TemplatePart } from './syntax-tree.js';

/** Returns every reference in an expression, except those to names of its own `for`s. */
export function referencesIn(expression: Expression): Reference[] {
  return inExpression(expression, new Set(), 0);
}

export const nestedTooDeeply = ({ source, span }: Expression): JobspecError =>
  new JobspecError([
    {
      summary: 'Nesting too deep',
      detail: `Expressions may be nested ${MAX_EVALUATION_DEPTH} deep, operators in a row included.`,
      at: { source, span },
    },
  ]);

/** @throws JobspecError if expressions are nested too deeply */
function inExpression(expression: Expression, hidden: ReadonlySet<string>, depth: number): Reference[] {
  if (depth > MAX_EVALUATION_DEPTH) throw nestedTooDeeply(expression);
  const within = (inner: readonly Expression[], also = hidden): Reference[] =>
    inner.flatMap((one) => inExpression(one, also, depth + 1));
  const withinParts = (parts: readonly TemplatePart[], also = hidden): Reference[] =>
    parts.flatMap((part) => {
      switch (part.kind) {
        case 'text':
          return [];
        case 'interpolation':
          return within([part.value], also);
        case 'if':
          return [...within([part.condition], also), ...withinParts([...part.whenTrue, ...part.whenFalse], also)];
        case 'for':
        default:
          return [...within([part.collection], also), ...withinParts(part.body, withNames(also, part))];
      }
    });
  switch (expression.type) {
    case 'literal':
      return [];
    case 'reference':
      return hidden.has(expression.root) ? [] : [expression];
    case 'template':
      return withinParts(expression.parts);
    case 'tuple':
      return within(expression.items);
    case 'object':
      return within(expression.items.flatMap(({ key, value }) => [key, value]));
    case 'parenthesised':
      return within([expression.inner]);
    case 'unary':
      return within([expression.operand]);
    case 'binary':
      return within([expression.left, expression.right]);
    case 'conditional':
      return within([expression.condition, expression.whenTrue, expression.whenFalse]);
    case 'call':
      return within(expression.args);
    case 'step':
      return within([expression.of]);
    case 'index':
      return within([expression.of, expression.key]);
    case 'splat':
      return within([expression.of, ...expression.steps.filter((step) => 'type' in step)]);
    case 'for':
    default: {
      const { key, value, condition } = expression;
      const parts = [key, value, condition].filter((part) => part !== undefined);
      return [...within([expression.collection]), ...within(parts, withNames(hidden, expression))];
    }
  }
}

function withNames(
  hidden: ReadonlySet<string>,
  { keyName, valueName }: { keyName: string | undefined; valueName: string },
): ReadonlySet<string> {
  return new Set([...hidden, valueName, ...(keyName === undefined ? [] : [keyName])]);
}
