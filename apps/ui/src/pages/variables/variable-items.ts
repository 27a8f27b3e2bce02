/** ItemRow is one item of a variable while somebody writes it. */
export interface ItemRow {
  /** Distinguishes rows, whose keys may be empty or equal for a while. */
  readonly id: number;
  readonly key: string;
  readonly value: string;
}

/** Returns the items by key. */
export const rowsOf = (items: Readonly<Record<string, string>>): readonly ItemRow[] =>
  Object.entries(items)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value], id) => ({ id, key, value }));

export const itemsOf = (rows: readonly ItemRow[]): Record<string, string> =>
  Object.fromEntries(rows.map(({ key, value }) => [key, value]));

/** Returns sentences about what keeps a variable from being saved. */
export function problemsOf(path: string, rows: readonly ItemRow[]): readonly string[] {
  const keys = rows.map(({ key }) => key);
  const twice = [...new Set(keys.filter((key, at) => key !== '' && keys.indexOf(key) !== at))];
  return [
    ...(path.trim() === '' ? ['Give the variable a path.'] : []),
    ...(rows.length === 0 ? ['Add an item: a variable has at least one.'] : []),
    ...(keys.includes('') ? ['Give every item a key.'] : []),
    ...twice.map((key) => `The key ${key} is there twice.`),
  ];
}
