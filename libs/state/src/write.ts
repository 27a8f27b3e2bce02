import type { TableName, TableRows, Tables } from './tables.js';
import type { Verdict } from './txn.js';

/** One row that a transaction changed: its content before and after (undefined: not there). */
export type Change = {
  [N in TableName]: {
    readonly table: N;
    readonly key: string;
    readonly before: TableRows[N] | undefined;
    readonly after: TableRows[N] | undefined;
  };
}[TableName];

/** Thrown by an applier when a precondition no longer holds; nothing of the transaction stays (ST-9). */
export class Refused extends Error {
  override readonly name = 'Refused';
}

interface Undo {
  readonly table: TableName;
  readonly key: string;
  readonly before: object | undefined;
}

interface RowBefore extends Undo {
  before: object | undefined;
}

/** Up to this many writes, looking through a list is cheaper than making maps; most transactions make three. */
const MAX_SCANNED_WRITES = 16;

/** Rows by table and key. */
class SeenRows {
  private readonly tables = new Map<TableName, Map<string, RowBefore>>();

  find(table: TableName, key: string): RowBefore | undefined {
    return this.tables.get(table)?.get(key);
  }

  add(row: RowBefore): void {
    const rows = this.tables.get(row.table);
    if (rows) rows.set(row.key, row);
    else this.tables.set(row.table, new Map([[row.key, row]]));
  }
}

/**
 * The working set of one transaction. Appliers read tables freely and write only through it: `put` and `remove` take
 * effect at once and are remembered, so that a refusal anywhere takes all of it back (ST-5).
 * Ends by `commit` or `rollback`, once. Cost: O(rows written).
 */
export class Write {
  /** Small result of the verdict, for the types that have one. */
  result: unknown = undefined;
  /** Text of a verdict that is accepted and still tells the caller something (ST-67, ST-105). */
  notice: string | undefined = undefined;
  private readonly undo: Undo[] = [];

  constructor(
    readonly tables: Tables,
    /** Index of the transaction. */
    readonly index: number,
    /** The envelope's time, unix ns: the only clock there is (ST-3). */
    readonly timeNs: number,
  ) {}

  put<N extends TableName>(table: N, row: TableRows[N]): void {
    const rows = this.tables[table];
    const key = rows.keyOf(row);
    this.undo.push({ table, key, before: rows.get(key) });
    rows.replace(key, row);
  }

  /** Removes a row; false if there was none. */
  remove(table: TableName, key: string): boolean {
    const rows = this.tables[table];
    const before = rows.get(key);
    if (!before) return false;
    this.undo.push({ table, key, before });
    rows.replace(key, undefined);
    return true;
  }

  rollback(): void {
    for (let i = this.undo.length - 1; i >= 0; i--) {
      const entry = this.undo[i] as Undo;
      replaceIn(this.tables, entry.table, entry.key, entry.before);
    }
    this.undo.length = 0;
  }

  /**
   * One change per row, in the order of the last write to each row (EV-1). A row inserted and deleted again is none.
   * Moves the index of every table that changed (ST-27).
   */
  commit(): Change[] {
    const changes: Change[] = [];
    for (const { table, key, before } of this.firstBefore()) {
      const rows = this.tables[table];
      const after = rows.get(key);
      if (before === after) continue;
      rows.tableIndex = this.index;
      changes.push(changeOf(table, key, before, after));
    }
    return changes;
  }

  /** Per row its content before the transaction, in the order of the last write to each. */
  private firstBefore(): readonly Undo[] {
    const { undo } = this;
    if (undo.length < 2) return undo;
    // Backwards, a row is met first at its last write and last at its first.
    const rows: RowBefore[] = [];
    const seen = undo.length > MAX_SCANNED_WRITES ? new SeenRows() : undefined;
    for (let i = undo.length - 1; i >= 0; i--) {
      const { table, key, before } = undo[i] as Undo;
      const row = seen ? seen.find(table, key) : rows.find((one) => one.key === key && one.table === table);
      if (row) {
        row.before = before;
        continue;
      }
      const met: RowBefore = { table, key, before };
      rows.push(met);
      seen?.add(met);
    }
    return rows.toReversed();
  }

  /** The verdict of a transaction that was not rejected. */
  verdict(changes: readonly Change[]): Verdict {
    return {
      kind: changes.length > 0 ? 'accepted' : 'noop',
      ...(this.notice !== undefined && { error: this.notice }),
      ...(this.result !== undefined && { result: this.result }),
    };
  }
}

// Table and row type are paired by construction (`put` and `remove` above); the compiler cannot see it through a union.
function changeOf(table: TableName, key: string, before: object | undefined, after: object | undefined): Change {
  return { table, key, before, after } as Change;
}

function replaceIn(tables: Tables, table: TableName, key: string, row: object | undefined): void {
  (tables[table] as { replace(key: string, row: object | undefined): void }).replace(key, row);
}
