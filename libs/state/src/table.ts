/**
 * One table of the state: rows by primary key, with secondary indexes. Rows are immutable; a change puts a new one.
 * Only a `Write` (write.ts) changes a table, so that one transaction is atomic (ST-5).
 *
 * Cost: get, put and delete are O(number of secondary indexes); `by` returns a live set without copying.
 */
export class Table<Row extends object> {
  /** Highest index that changed a row here (ST-27). */
  tableIndex = 0;
  private readonly rows = new Map<string, Row>();
  private readonly indexes: { of: (row: Row) => string | undefined; keys: Map<string, Map<string, Row>> }[];
  private readonly indexNames: readonly string[];

  constructor(
    readonly name: string,
    readonly keyOf: (row: Row) => string,
    indexes: Record<string, (row: Row) => string | undefined> = {},
  ) {
    this.indexNames = Object.keys(indexes);
    this.indexes = Object.values(indexes).map((of) => ({ of, keys: new Map() }));
  }

  get size(): number {
    return this.rows.size;
  }

  get(key: string): Row | undefined {
    return this.rows.get(key);
  }

  has(key: string): boolean {
    return this.rows.has(key);
  }

  /** All rows, in order of first insertion. O(rows): the caller says why it may. */
  all(): IterableIterator<Row> {
    return this.rows.values();
  }

  /** The rows whose index `indexName` has this value. O(matches). */
  by(indexName: string, value: string): Iterable<Row> {
    const at = this.indexNames.indexOf(indexName);
    const index = this.indexes[at];
    if (!index) throw new Error(`table ${this.name} has no index ${indexName}`);
    return index.keys.get(value)?.values() ?? [];
  }

  /** Sets or removes a row without bookkeeping. For `Write`, and for loading a snapshot. */
  replace(key: string, row: Row | undefined): void {
    const before = this.rows.get(key);
    for (const index of this.indexes) {
      const from = before && index.of(before);
      const to = row && index.of(row);
      if (from !== undefined && from !== to) {
        const bucket = index.keys.get(from);
        bucket?.delete(key);
        if (bucket?.size === 0) index.keys.delete(from);
      }
      if (to !== undefined && row) {
        let bucket = index.keys.get(to);
        if (!bucket) index.keys.set(to, (bucket = new Map()));
        bucket.set(key, row);
      }
    }
    if (row) this.rows.set(key, row);
    else this.rows.delete(key);
  }
}
