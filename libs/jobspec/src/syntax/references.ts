import type { Expression, Reference, TemplatePart } from './syntax-tree.js';

/** Every reference in an expression but those to the names that its own `for`s introduce. */
export function referencesIn(expression: Expression, hidden: ReadonlySet<string> = new Set()): Reference[] {
  const within = (...inner: readonly (Expression | undefined)[]): Reference[] =>
    inner.flatMap((one) => (one ? referencesIn(one, hidden) : []));
  switch (expression.type) {
    case 'literal':
      return [];
    case 'reference':
      return hidden.has(expression.root) ? [] : [expression];
    case 'template':
      return referencesInParts(expression.parts, hidden);
    case 'tuple':
      return within(...expression.items);
    case 'object':
      return within(...expression.items.flatMap(({ key, value }) => [key, value]));
    case 'parenthesised':
      return within(expression.inner);
    case 'unary':
      return within(expression.operand);
    case 'binary':
      return within(expression.left, expression.right);
    case 'conditional':
      return within(expression.condition, expression.whenTrue, expression.whenFalse);
    case 'call':
      return within(...expression.args);
    case 'step':
      return within(expression.of);
    case 'index':
      return within(expression.of, expression.key);
    case 'splat':
      return within(expression.of, ...expression.steps.filter((step) => 'type' in step));
    case 'for':
    default: {
      const inner = withNames(hidden, expression);
      const parts = [expression.key, expression.value, expression.condition];
      return [...within(expression.collection), ...parts.flatMap((part) => (part ? referencesIn(part, inner) : []))];
    }
  }
}

function referencesInParts(parts: readonly TemplatePart[], hidden: ReadonlySet<string>): Reference[] {
  return parts.flatMap((part) => {
    switch (part.kind) {
      case 'text':
        return [];
      case 'interpolation':
        return referencesIn(part.value, hidden);
      case 'if':
        return [
          ...referencesIn(part.condition, hidden),
          ...referencesInParts([...part.whenTrue, ...part.whenFalse], hidden),
        ];
      case 'for':
      default:
        return [...referencesIn(part.collection, hidden), ...referencesInParts(part.body, withNames(hidden, part))];
    }
  });
}

function withNames(
  hidden: ReadonlySet<string>,
  { keyName, valueName }: { keyName: string | undefined; valueName: string },
): ReadonlySet<string> {
  return new Set([...hidden, valueName, ...(keyName === undefined ? [] : [keyName])]);
}
