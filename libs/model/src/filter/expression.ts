/** What a filter says (API-68), as a tree. Chains of the same word are one node, so that depth is only nesting. */
export type Expression =
  | { readonly kind: 'or' | 'and'; readonly terms: readonly Expression[] }
  | { readonly kind: 'not'; readonly term: Expression }
  | Quantifier
  | Comparison;

export interface Quantifier {
  readonly kind: 'any' | 'all';
  readonly of: Selector;
  readonly as: Binder;
  readonly term: Expression;
}

/** `x`, or two names of which either may be `_`. */
export type Binder =
  | { readonly kind: 'single'; readonly name: string }
  | { readonly kind: 'pair'; readonly first: string; readonly second: string };

export type Operator =
  | '=='
  | '!='
  | 'in'
  | 'not in'
  | 'is empty'
  | 'is not empty'
  | 'is nil'
  | 'is not nil'
  | 'matches'
  | 'not matches';

export interface Comparison {
  readonly kind: 'comparison';
  readonly selector: Selector;
  /** `contains` is `in` with the sides swapped. */
  readonly operator: Operator;
  /** As typed, without quotes; "" where the operator takes none. */
  readonly value: string;
  /** For the two matching operators. */
  readonly pattern: Pattern | undefined;
}

/** A compiled regular expression. */
export interface Pattern {
  test(text: string, spend: (steps: number) => void): boolean;
}

/** Where to look: names, keys and positions one below the other. */
export interface Selector {
  readonly parts: readonly string[];
  /** As typed, for messages. */
  readonly text: string;
}
