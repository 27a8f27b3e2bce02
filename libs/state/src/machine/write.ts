import { Refusal } from '@waybill/model';
import { unstorable } from './storable-rows.js';
import type { TableName, TableRows, Tables } from './tables.js';
import type { Verdict } from '../log/txn.js';

/** One row that a transaction changed: its content before and after (undefined: not there). */
export type Change = {
  [N in TableName]: {
    readonly table: N;
    readonly key: string;
    readonly before: TableRows[N] | undefined;
    readonly after: TableRows[N] | undefined;
  };
}[TableName];

/** One write to one row: what stood there, what it put there. */
interface Written {
  readonly table: TableName;
  readonly key: string;
  before: object | undefined;
  readonly after: object | undefined;
}

/** Up to this many writes, looking through a list is cheaper than making maps; most transactions make three. */
const MAX_SCANNED_WRITES = 16;

/** Verdicts without text or result: nearly all. */
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
 * The working set of one transaction. Appliers read tables freely and write only through it: `put` and `remove` take
 * effect at once and are remembered, so that a refusal anywhere takes all of it back (ST-5).
 * Ends by `commit` or `rollback`, once. Cost: O(rows written).
 */
export class Write {
  /** Small result of the verdict, for the types that have one. */
  result: unknown = undefined;
  /** Text of a verdict that is accepted and still tells the caller something (ST-67, ST-105). */
  notice: string | undefined = undefined;
  private readonly written: Written[] = [];

  constructor(
    readonly tables: Tables,
    /** Index of the transaction. */
    readonly index: number,
    /** The envelope's time, unix ns: the only clock there is (ST-3). */
    readonly timeNs: number,
  ) {}

  /** @throws Refusal no projection could store the row (storable-rows.ts) */
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
   * Every write so far, a row as often as it was written. For what follows from rows, whichever transaction wrote them.
   * Live: who writes while going through them picks the rows first.
   */
  get rowsWritten(): readonly Change[] {
    return this.written as readonly Change[]; // as `changeOf` below
  }

  rollback(): void {
    for (let i = this.written.length - 1; i >= 0; i--) {
      const { table, key, before } = this.written[i] as Written;
      replaceIn(this.tables, table, key, before);
    }
    this.written.length = 0;
  }

  /**
   * One change per row, in the order of the last write to each row (EV-1). A row inserted and deleted again is none.
   * Moves the index of every table that changed (ST-27).
   */
  commit(): Change[] {
    const changes: Change[] = [];
    for (const row of this.lastWrites()) {
      if (row.before === row.after) continue;
      this.tables[row.table].tableIndex = this.index;
      changes.push(changeOf(row));
    }
    return changes;
  }

  /** The last write to each row, with the row's content before the transaction, in the order written. */
  private lastWrites(): readonly Written[] {
    const { written } = this;
    if (written.length < 2) return written;
    // Backwards, a row is met first at its last write and last at its first.
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

// Table and row type are paired by construction (`put` and `remove` above); the compiler cannot see it through a union.
function changeOf(row: Written): Change {
  return row as Change;
}

function replaceIn(tables: Tables, table: TableName, key: string, row: object | undefined): void {
  (tables[table] as { replace(key: string, row: object | undefined): void }).replace(key, row);
}
