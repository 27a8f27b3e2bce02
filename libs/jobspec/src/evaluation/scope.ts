import type { Value } from './value.js';

/**
 * The known roots of references. Inner names hide outer ones. References with any other root are runtime references
 * (JS-60).
 */
export class Scope {
  static readonly EMPTY = new Scope(new Map());

  private constructor(
    private readonly names: ReadonlyMap<string, Value>,
    private readonly outer?: Scope,
  ) {}

  with(names: Iterable<readonly [string, Value]>): Scope {
    return new Scope(new Map(names), this);
  }

  has(name: string): boolean {
    return this.names.has(name) || (this.outer?.has(name) ?? false);
  }

  get(name: string): Value {
    return this.names.get(name) ?? (this.names.has(name) ? null : (this.outer?.get(name) ?? null));
  }
}
