/** Members of a map in the order of their keys, the only order in which maps are printed (CL-140). */
export const sortedEntries = <T>(map: Readonly<Record<string, T>> | null | undefined): [string, T][] =>
  Object.entries(map ?? {}).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
