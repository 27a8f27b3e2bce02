import { convertTo } from './convert-value.js';
import type { Comparison, Expression, Operator, Quantifier } from './expression.js';
import { FilterEvaluationError } from './filter-error.js';
import { type Bindings, find, FoundValue } from './found-value.js';
import type { StepBudget } from './step-budget.js';

const NO_BINDINGS: Bindings = new Map();

/** Evaluates an expression for an object (API-70). @throws FilterEvaluationError, FilterTooExpensiveError */
export function evaluate(expression: Expression, object: object, budget: StepBudget): boolean {
  return new Evaluation(FoundValue.root(object), budget).holds(expression, NO_BINDINGS);
}

class Evaluation {
  constructor(
    private readonly root: FoundValue,
    private readonly budget: StepBudget,
  ) {}

  holds(expression: Expression, bindings: Bindings): boolean {
    this.budget.spend(1);
    switch (expression.kind) {
      case 'or':
        return expression.terms.some((term) => this.holds(term, bindings));
      case 'and':
        return expression.terms.every((term) => this.holds(term, bindings));
      case 'not':
        return !this.holds(expression.term, bindings);
      case 'any':
      case 'all':
        return this.quantified(expression, bindings);
      case 'comparison':
        return this.compared(expression, bindings);
    }
  }

  /** Evaluates a quantifier. For an empty collection, `any` is false and `all` is true. */
  private quantified({ kind, of, as, term }: Quantifier, bindings: Bindings): boolean {
    const among = find(of, this.root, bindings);
    if (!among) return kind === 'all';
    const inside = (entry: Entry): boolean => this.holds(term, bound(bindings, as, entry));
    const entries = entriesOf(among, of.text);
    return kind === 'any' ? entries.some(inside) : entries.every(inside);
  }

  private compared({ selector, operator, value, pattern }: Comparison, bindings: Bindings): boolean {
    const found = find(selector, this.root, bindings);
    if (!found) return WHEN_ABSENT[operator];
    const refuse = (what: string): never => {
      throw new FilterEvaluationError(
        `error finding value in datum: cannot perform ${what} on type ${found.kind} for selector: ${JSON.stringify(selector.text)}`,
      );
    };
    switch (operator) {
      case 'is nil':
        return found.json === null || found.json === undefined;
      case 'is not nil':
        return found.json !== null && found.json !== undefined;
      case 'is empty':
        return (lengthOf(found) ?? refuse('is empty/is not empty operations')) === 0;
      case 'is not empty':
        return (lengthOf(found) ?? refuse('is empty/is not empty operations')) > 0;
      case '==':
        return equal(found, value) ?? refuse('equality operations');
      case '!=':
        return !(equal(found, value) ?? refuse('equality operations'));
      case 'in':
        return this.contains(found, value) ?? refuse('in/contains operations');
      case 'not in':
        return !(this.contains(found, value) ?? refuse('in/contains operations'));
      case 'matches':
      case 'not matches': {
        if (typeof found.json !== 'string' || !pattern) return refuse('regular expression operations');
        return pattern.test(found.json, (steps) => this.budget.spend(steps)) === (operator === 'matches');
      }
    }
  }

  /** Returns undefined if a value of this kind cannot contain anything. */
  private contains(found: FoundValue, value: string): boolean | undefined {
    if (typeof found.json === 'string') return found.json.includes(value);
    if (found.kind === 'map') return found.has(value);
    if (found.kind !== 'list') return undefined;
    for (const element of found.elements) {
      this.budget.spend(1);
      const same = equal(element, value);
      if (same !== false) return same;
    }
    return false;
  }
}

const WHEN_ABSENT: Readonly<Record<Operator, boolean>> = {
  '==': false,
  '!=': true,
  in: false,
  'not in': true,
  'is empty': true,
  'is not empty': false,
  'is nil': true,
  'is not nil': false,
  matches: false,
  'not matches': true,
};

/** Returns undefined if a value of this kind cannot be compared with a text. */
function equal(found: FoundValue, value: string): boolean | undefined {
  const { kind } = found;
  if (kind === 'nil' || kind === 'list' || kind === 'map' || kind === 'struct') return undefined;
  return found.json === convertTo(kind, value);
}

function lengthOf(found: FoundValue): number | undefined {
  if (typeof found.json === 'string') return found.json.length;
  if (found.kind === 'list') return found.elements.length;
  return found.kind === 'map' ? found.keys.length : undefined;
}

/** One round of a quantifier. With a single name, a map yields its keys and a list its values. */
interface Entry {
  readonly first: FoundValue;
  readonly second: FoundValue;
  readonly single: FoundValue;
}

function entriesOf(among: FoundValue, selector: string): readonly Entry[] {
  if (among.kind === 'map')
    return among.keys.map((key) => {
      const first = FoundValue.scalar(key);
      return { first, second: among.valueOf(key), single: first };
    });
  if (among.kind === 'list')
    return among.elements.map((second, at) => ({ first: FoundValue.scalar(at), second, single: second }));
  throw new FilterEvaluationError(
    `error finding value in datum: any/all go through lists and maps, ${JSON.stringify(selector)} is a ${among.kind}`,
  );
}

function bound(bindings: Bindings, as: Quantifier['as'], entry: Entry): Bindings {
  const inner = new Map(bindings);
  if (as.kind === 'single') inner.set(as.name, entry.single);
  else {
    if (as.first !== '_') inner.set(as.first, entry.first);
    if (as.second !== '_') inner.set(as.second, entry.second);
  }
  return inner;
}
