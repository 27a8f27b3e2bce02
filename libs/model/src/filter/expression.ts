/**
 * A parsed filter (API-68). A chain of the same operator is one node, so the depth of the tree is the depth of nesting.
 */
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

/** One name, or two names of which either may be `_`. */
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
  /** `contains` is parsed as `in` with its sides swapped. */
  readonly operator: Operator;
  /** The value as typed, without quotes. Empty if the operator takes none. */
  readonly value: string;
  /** Set for the two matching operators. */
  readonly pattern: Pattern | undefined;
}

/** A compiled regular expression. */
export interface Pattern {
  test(text: string, spend: (steps: number) => void): boolean;
}

/** The place of a value in an object: nested names, keys and positions. */
export interface Selector {
  readonly parts: readonly string[];
  /** The selector as typed, for messages. */
  readonly text: string;
}
