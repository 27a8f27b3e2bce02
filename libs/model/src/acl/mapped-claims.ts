/** What selectors of binding rules look at, and names are made of: the mapped claims of a login, by their targets (AU-46). */
export interface MappedClaims {
  readonly value: Readonly<Record<string, string>>;
  readonly list: Readonly<Record<string, readonly string[]>>;
}
