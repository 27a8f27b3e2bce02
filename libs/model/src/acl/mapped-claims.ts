/**
 * The mapped claims of a login by their target names. Selectors of binding rules and templates of names read them
 * (AU-46).
 */
export interface MappedClaims {
  readonly value: Readonly<Record<string, string>>;
  readonly list: Readonly<Record<string, readonly string[]>>;
}
