/** Returns the entries of a map, sorted by key. All maps are printed in this order (CL-140). */
export const sortedEntries = <T>(map: Readonly<Record<string, T>> | null | undefined): [string, T][] =>
  Object.entries(map ?? {}).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
