/** Where in the text a node stands: offsets in UTF-16 units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export type Operand = Span &
  (
    | { readonly kind: 'dot' }
    | { readonly kind: 'nil' }
    | { readonly kind: 'literal'; readonly value: string | number | bigint | boolean }
    /** `.A.B` */
    | { readonly kind: 'field'; readonly path: readonly string[] }
    /** `$x.A`; the name is with its dollar sign */
    | { readonly kind: 'variable'; readonly name: string; readonly path: readonly string[] }
    | { readonly kind: 'function'; readonly name: string }
    /** `(pipeline).A` */
    | { readonly kind: 'chain'; readonly of: Operand; readonly path: readonly string[] }
    | { readonly kind: 'pipeline'; readonly pipeline: Pipeline }
  );

/** An operand and what it is given: `index .List 1`. */
export interface Command extends Span {
  readonly operands: readonly [Operand, ...Operand[]];
}

export interface Pipeline extends Span {
  /** Names with their dollar signs; at most one, two in a `range`. */
  readonly variables: readonly string[];
  /** `=` instead of `:=`. */
  readonly assigns: boolean;
  readonly commands: readonly [Command, ...Command[]];
}

export type Block = readonly Statement[];

export type Statement = Span &
  (
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'action'; readonly pipeline: Pipeline }
    | {
        readonly kind: 'if' | 'with' | 'range';
        readonly pipeline: Pipeline;
        readonly body: Block;
        readonly otherwise: Block;
      }
    | { readonly kind: 'template'; readonly name: string; readonly pipeline: Pipeline | null }
    | { readonly kind: 'break' | 'continue' }
  );
