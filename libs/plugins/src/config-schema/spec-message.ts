/** A schema as it travels (PG-41). Exactly one member is set. */
export interface SpecMessage {
  readonly object?: { readonly attributes?: Readonly<Record<string, SpecMessage>> } | null;
  readonly array?: { readonly values?: readonly SpecMessage[] } | null;
  readonly Attr?: NamedType | null;
  readonly block_value?: NamedBlock | null;
  readonly block_attrs?: NamedType | null;
  readonly block_list?: CountedBlock | null;
  readonly block_set?: CountedBlock | null;
  readonly block_map?: LabelledBlock | null;
  readonly default?: { readonly primary?: SpecMessage | null; readonly default?: SpecMessage | null } | null;
  readonly literal?: { readonly value?: string } | null;
}

interface NamedType {
  readonly name?: string;
  readonly type?: string;
  readonly required?: boolean;
}

interface NamedBlock {
  readonly name?: string;
  readonly required?: boolean;
  readonly nested?: SpecMessage | null;
}

interface CountedBlock {
  readonly name?: string;
  /** A 64-bit integer as text. */
  readonly min_items?: string | number;
  readonly max_items?: string | number;
  readonly nested?: SpecMessage | null;
}

interface LabelledBlock {
  readonly name?: string;
  readonly labels?: readonly string[];
  readonly nested?: SpecMessage | null;
}
