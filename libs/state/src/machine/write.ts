import { Refusal } from '@waybill/model';
import { unstorable } from './storable-rows.js';
import { TABLE_NAMES, type TableName, type TableRows, type Tables } from './tables.js';
import type { Verdict } from '../log/txn.js';

/** One row that a transaction changed: its content before and after (undefined: missing). */
export type Change = {
  [N in TableName]: {
    readonly table: N;
    readonly key: string;
    readonly before: TableRows[N] | undefined;
    readonly after: TableRows[N] | undefined;
  };
}[TableName];

/** One write of one row: the previous and the new content. */
interface Written {
  readonly table: TableName;
  readonly key: string;
  before: object | undefined;
  readonly after: object | undefined;
}

/** Number of writes up to which scanning a list is cheaper than building maps; most transactions have three. */
const MAX_SCANNED_WRITES = 16;

/** Verdict without text or result, as nearly all are. */
const ACCEPTED: Verdict = Object.freeze({ kind: 'accepted' });
const NOOP: Verdict = Object.freeze({ kind: 'noop' });

/** The last write to each row, by table and key. */
class SeenRows {
  private readonly tables = new Map<TableName, Map<string, Written>>();

  find(table: TableName, key: string): Written | undefined {
    return this.tables.get(table)?.get(key);
  }

  add(row: Written): void {
    const rows = this.tables.get(row.table);
    if (rows) rows.set(row.key, row);
    else this.tables.set(row.table, new Map([[row.key, row]]));
  }
}

/**
 * The changes of one transaction. Appliers read tables freely and write only through it: `put` and `remove` take effect
 * at once and are recorded, so that a refusal reverts all of them (ST-5). Ended once, by `commit` or `rollback`. Cost:
 * O(rows written).
 */
export class Write {
  /** Small result of the verdict, for types that have one. */
  result: unknown = undefined;
  /** Text of an accepted verdict that informs the caller (ST-67, ST-105). */
  notice: string | undefined = undefined;
  private readonly written: Written[] = [];
  private everyTableMoves = false;

  constructor(
    readonly tables: Tables,
    /** Index of the transaction. */
    readonly index: number,
    /** The envelope's time, unix ns: the only clock (ST-3). */
    readonly timeNs: number,
  ) {}

  /** Writes a row. @throws Refusal if no projection can store the row (storable-rows.ts) */
  put<N extends TableName>(table: N, row: TableRows[N]): void {
    const problem = unstorable(table, row);
    if (problem !== undefined) throw new Refusal('invalid', problem);
    const rows = this.tables[table];
    const key = rows.keyOf(row);
    const before = rows.replace(key, row);
    this.written.push({ table, key, before, after: row });
  }

  /** Removes a row; false if there was none. */
  remove(table: TableName, key: string): boolean {
    const before = this.tables[table].replace(key, undefined);
    if (!before) return false;
    this.written.push({ table, key, before, after: undefined });
    return true;
  }

  /**
   * Every write so far; a row may occur several times. For effects that follow from rows, whichever transaction wrote
   * them. Live: code that writes while iterating selects its rows first.
   */
  get rowsWritten(): readonly Change[] {
    return this.written as readonly Change[]; // the types match as in `changeOf`
  }

  /** Moves the index of every table at `commit`, also of those without a change. */
  moveEveryTableIndex(): void {
    this.everyTableMoves = true;
  }

  /** Whether `commit` moves the index of every table. */
  get movesEveryTableIndex(): boolean {
    return this.everyTableMoves;
  }

  rollback(): void {
    this.everyTableMoves = false;
    for (let i = this.written.length - 1; i >= 0; i--) {
      const { table, key, before } = this.written[i] as Written;
      replaceIn(this.tables, table, key, before);
    }
    this.written.length = 0;
  }

  /**
   * Ends the write. One change for each row, in the order of the last write to each (EV-1); a row that was inserted and
   * deleted again is none. Moves the index of every table that changed (ST-27).
   */
  commit(): Change[] {
    if (this.everyTableMoves) for (const name of TABLE_NAMES) this.tables[name].tableIndex = this.index;
    const changes: Change[] = [];
    for (const row of this.lastWrites()) {
      if (row.before === row.after) continue;
      this.tables[row.table].tableIndex = this.index;
      changes.push(changeOf(row));
    }
    return changes;
  }

  /** The last write to each row, with the row's content before the transaction, in the order of writing. */
  private lastWrites(): readonly Written[] {
    const { written } = this;
    if (written.length < 2) return written;
    // Backwards, the first write of a row that is met is its last one.
    const rows: Written[] = [];
    const seen = written.length > MAX_SCANNED_WRITES ? new SeenRows() : undefined;
    for (let i = written.length - 1; i >= 0; i--) {
      const row = written[i] as Written;
      const last = seen ? seen.find(row.table, row.key) : findRow(rows, row);
      if (last) {
        last.before = row.before;
        continue;
      }
      rows.push(row);
      seen?.add(row);
    }
    return rows.toReversed();
  }

  /** The verdict of a transaction that was not rejected. */
  verdict(changes: readonly Change[]): Verdict {
    if (this.notice === undefined && this.result === undefined) return changes.length > 0 ? ACCEPTED : NOOP;
    return {
      kind: changes.length > 0 ? 'accepted' : 'noop',
      ...(this.notice !== undefined && { error: this.notice }),
      ...(this.result !== undefined && { result: this.result }),
    };
  }
}

function findRow(rows: readonly Written[], { table, key }: Written): Written | undefined {
  for (const row of rows) if (row.table === table && row.key === key) return row;
  return undefined;
}

// Table and row type match by construction (`put` and `remove` above), which the compiler cannot see through a union.
function changeOf(row: Written): Change {
  return row as Change;
}

function replaceIn(tables: Tables, table: TableName, key: string, row: object | undefined): void {
  (tables[table] as { replace(key: string, row: object | undefined): void }).replace(key, row);
}
