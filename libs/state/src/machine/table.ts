/** Holder of a row: an update that keeps its index values changes the holder and no index. */
interface Cell<Row> {
  row: Row;
}

/** Value under which an index finds a row; undefined: the index omits the row. */
export type IndexValue<Row> = (row: Row) => string | undefined;

/** An index whose value must be computed. `keeps` is a cheaper check whether an update leaves the value unchanged. */
export interface MadeIndexValue<Row> {
  readonly of: IndexValue<Row>;
  readonly keeps: (before: Row, after: Row) => boolean;
}

interface SecondaryIndex<Row> {
  readonly of: IndexValue<Row>;
  readonly keeps: ((before: Row, after: Row) => boolean) | undefined;
  /** Most values have one row: a set with one element would be several times its size. */
  readonly cells: Map<string, Cell<Row> | Set<Cell<Row>>>;
}

/**
 * One table of the state: rows by primary key, with secondary indexes. Rows are immutable; a change puts a new one.
 * Only a `Write` (write.ts) changes a table, so that a transaction is atomic (ST-5).
 *
 * Order: the order of rows has no meaning. A copy that was loaded from a snapshot, or reverted a refused transaction,
 * has another order than a copy that did not, so code that decides what to write sorts first (row-order.ts).
 *
 * Cost: get, put and delete are O(number of secondary indexes); a put that keeps a row's index values touches no index.
 * `by` and `all` are live: copy before writing to the same table while iterating.
 */
export class Table<Row extends object> {
  /** Highest index that changed a row here (ST-27). */
  tableIndex = 0;
  private readonly cells = new Map<string, Cell<Row>>();
  private readonly indexes: readonly SecondaryIndex<Row>[];
  private readonly indexOf: ReadonlyMap<string, SecondaryIndex<Row>>;

  constructor(
    readonly name: string,
    readonly keyOf: (row: Row) => string,
    indexes: Record<string, IndexValue<Row> | MadeIndexValue<Row>> = {},
  ) {
    this.indexOf = new Map(
      Object.entries(indexes).map(([indexName, given]) => {
        const { of, keeps } = typeof given === 'function' ? { of: given, keeps: undefined } : given;
        return [indexName, { of, keeps, cells: new Map() }];
      }),
    );
    this.indexes = [...this.indexOf.values()];
  }

  get size(): number {
    return this.cells.size;
  }

  get(key: string): Row | undefined {
    return this.cells.get(key)?.row;
  }

  has(key: string): boolean {
    return this.cells.has(key);
  }

  /** All rows. O(rows): callers document why they may. */
  *all(): IterableIterator<Row> {
    for (const cell of this.cells.values()) yield cell.row;
  }

  /** All rows with their keys. O(rows). */
  *entries(): IterableIterator<[string, Row]> {
    for (const [key, cell] of this.cells) yield [key, cell.row];
  }

  /** The rows whose index `indexName` has this value. O(matches). */
  *by(indexName: string, value: string): IterableIterator<Row> {
    const cells = this.index(indexName).cells.get(value);
    if (cells instanceof Set) for (const cell of cells) yield cell.row;
    else if (cells) yield cells.row;
  }

  /** How many rows have this value in index `indexName`. O(1). */
  count(indexName: string, value: string): number {
    const cells = this.index(indexName).cells.get(value);
    if (cells instanceof Set) return cells.size;
    return cells ? 1 : 0;
  }

  /**
   * Sets or removes a row without recording it, and returns the previous one. For `Write`, and for loading a snapshot.
   * If an index throws for a row that it cannot read, the table is unchanged.
   */
  replace(key: string, row: Row | undefined): Row | undefined {
    const cell = this.cells.get(key);
    if (!cell) {
      if (row) this.insert(key, row);
      return undefined;
    }
    const before = cell.row;
    if (row) this.update(cell, row);
    else this.drop(key, cell);
    return before;
  }

  private insert(key: string, row: Row): void {
    const cell: Cell<Row> = { row };
    let entered = 0;
    try {
      for (const index of this.indexes) {
        const value = index.of(row);
        if (value !== undefined) enterIndex(index, value, cell);
        entered += 1;
      }
    } catch (error) {
      for (const index of this.indexes.slice(0, entered)) moveInIndex(index, cell, index.of(row), undefined);
      throw error;
    }
    this.cells.set(key, cell);
  }

  private update(cell: Cell<Row>, row: Row): void {
    const before = cell.row;
    cell.row = row;
    let moved = 0;
    try {
      for (const index of this.indexes) {
        if (!index.keeps?.(before, row)) moveInIndex(index, cell, index.of(before), index.of(row));
        moved += 1;
      }
    } catch (error) {
      cell.row = before;
      for (const index of this.indexes.slice(0, moved)) moveInIndex(index, cell, index.of(row), index.of(before));
      throw error;
    }
  }

  private drop(key: string, cell: Cell<Row>): void {
    for (const index of this.indexes) {
      const value = index.of(cell.row);
      if (value !== undefined) leaveIndex(index, value, cell);
    }
    this.cells.delete(key);
  }

  private index(indexName: string): SecondaryIndex<Row> {
    const found = this.indexOf.get(indexName);
    if (!found) throw new Error(`table ${this.name} has no index ${indexName}`);
    return found;
  }
}

function enterIndex<Row>(index: SecondaryIndex<Row>, value: string, cell: Cell<Row>): void {
  const cells = index.cells.get(value);
  if (cells instanceof Set) cells.add(cell);
  else index.cells.set(value, cells ? new Set([cells, cell]) : cell);
}

function moveInIndex<Row>(
  index: SecondaryIndex<Row>,
  cell: Cell<Row>,
  from: string | undefined,
  to: string | undefined,
): void {
  if (from === to) return;
  if (from !== undefined) leaveIndex(index, from, cell);
  if (to !== undefined) enterIndex(index, to, cell);
}

function leaveIndex<Row>(index: SecondaryIndex<Row>, value: string, cell: Cell<Row>): void {
  const cells = index.cells.get(value);
  if (cells instanceof Set && cells.size > 1) cells.delete(cell);
  else index.cells.delete(value);
}
