import type { Decimal } from '../evaluation/decimal.js';
import type { SourceText, Span } from './source-text.js';

/** Content of a block or a whole file. Both lists are in the file's order. */
export interface Body {
  readonly source: SourceText;
  readonly attributes: readonly Attribute[];
  readonly blocks: readonly Block[];
  readonly span: Span;
}

export interface Attribute {
  readonly name: string;
  readonly nameSpan: Span;
  readonly value: Expression;
}

export interface Label {
  readonly text: string;
  readonly span: Span;
}

export interface Block {
  readonly type: string;
  readonly typeSpan: Span;
  readonly labels: readonly Label[];
  /** The opening brace. */
  readonly openSpan: Span;
  readonly body: Body;
  /** From the type to the end of the labels. */
  readonly headerSpan: Span;
}

interface Node {
  readonly source: SourceText;
  readonly span: Span;
}

/** One step of a reference, known without evaluation. */
export type Step =
  | { readonly kind: 'attribute'; readonly name: string; readonly span: Span }
  | { readonly kind: 'index'; readonly key: string | Decimal; readonly span: Span };

/** A reference `root.step[0].step`. It keeps its place in the text, from which JS-60 makes runtime references. */
export interface Reference extends Node {
  readonly type: 'reference';
  readonly root: string;
  readonly steps: readonly Step[];
}

export interface ObjectItem {
  readonly key: Expression;
  readonly value: Expression;
}

export type BinaryOperator = '||' | '&&' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '%';

export type Expression =
  | (Node & { readonly type: 'literal'; readonly value: null | boolean | string | Decimal })
  | (Node & { readonly type: 'template'; readonly parts: readonly TemplatePart[] })
  | Reference
  | (Node & { readonly type: 'tuple'; readonly items: readonly Expression[] })
  | (Node & { readonly type: 'object'; readonly items: readonly ObjectItem[] })
  | (Node & { readonly type: 'parenthesised'; readonly inner: Expression })
  | (Node & { readonly type: 'unary'; readonly operator: '-' | '!'; readonly operand: Expression })
  | (Node & {
      readonly type: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    })
  | (Node & {
      readonly type: 'conditional';
      readonly condition: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse: Expression;
    })
  | (Node & {
      readonly type: 'call';
      readonly name: string;
      readonly nameSpan: Span;
      readonly args: readonly Expression[];
      /** Whether `...` follows the last argument. */
      readonly spreads: boolean;
    })
  | (Node & { readonly type: 'step'; readonly of: Expression; readonly step: Step })
  | (Node & { readonly type: 'index'; readonly of: Expression; readonly key: Expression })
  | (Node & { readonly type: 'splat'; readonly of: Expression; readonly steps: readonly (Step | Expression)[] })
  | ForExpression;

export interface ForExpression extends Node {
  readonly type: 'for';
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
  /** Present if the result is an object. */
  readonly key: Expression | undefined;
  readonly value: Expression;
  readonly condition: Expression | undefined;
  /** Whether `v...` collects the values of one key in a tuple. */
  readonly groups: boolean;
}

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  /** `verbatim` is the text with its delimiters, as written (JS-61). */
  | { readonly kind: 'interpolation'; readonly value: Expression; readonly verbatim: string }
  | {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly whenTrue: readonly TemplatePart[];
      readonly whenFalse: readonly TemplatePart[];
    }
  | {
      readonly kind: 'for';
      readonly keyName: string | undefined;
      readonly valueName: string;
      readonly collection: Expression;
      readonly body: readonly TemplatePart[];
    };
