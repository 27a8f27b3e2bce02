/** KnownAlloc is an allocation for which this agent has a runner. */
export interface KnownAlloc {
  readonly id: string;
  readonly allocModifyIndex: number;
}

export interface AllocDiff {
  /** Allocations that the servers forgot (AG-45). */
  readonly removed: readonly string[];
  /** Allocations to fetch: they are new, or newer than the runner's version (AG-42). */
  readonly wanted: readonly string[];
}

/**
 * Compares the servers' list with the allocations of this machine (AG-42, AG-44). Cost: O(both).
 * @param invalid IDs of allocations that could not be added
 */
export function diffAllocs(
  listed: Readonly<Record<string, number>>,
  known: readonly KnownAlloc[],
  invalid: ReadonlySet<string>,
): AllocDiff {
  const here = new Map(known.map((alloc) => [alloc.id, alloc.allocModifyIndex]));
  return {
    removed: known.filter(({ id }) => !Object.hasOwn(listed, id)).map(({ id }) => id),
    wanted: Object.entries(listed)
      .filter(([id, index]) => !invalid.has(id) && index > (here.get(id) ?? -1))
      .map(([id]) => id),
  };
}

/**
 * Compares like diffAllocs after a restore of the servers' state: an older version is also a change (OP-47). Cost:
 * O(both).
 */
export function diffRestoredAllocs(listed: Readonly<Record<string, number>>, known: readonly KnownAlloc[]): AllocDiff {
  const here = new Map(known.map((alloc) => [alloc.id, alloc.allocModifyIndex]));
  const wanted = Object.entries(listed).filter(([id, index]) => index !== here.get(id));
  return { ...diffAllocs(listed, known, new Set()), wanted: wanted.map(([id]) => id) };
}
