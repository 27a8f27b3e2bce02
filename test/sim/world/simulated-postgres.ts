import {
  type Found,
  ProjectionMovedError,
  type RecordedVerdict,
  SetAsideError,
  type ReadPoint,
  type RecordedMarks,
  type Rewound,
  type SetAsideRow,
} from '@waybill/projection';
import type { Allocation, Job, SchedulerConfiguration, Variable } from '@waybill/model';
import type { ProjectionStore } from '@waybill/projector';
import {
  type Applied,
  type LogMark,
  markOf,
  SINGLETON_KEY,
  StateMachine,
  type Table,
  TABLE_NAMES,
  type TableName,
  type TableRows,
  namespacedKey,
  isRejected,
} from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Simulator } from '../kernel/simulator.js';
import { frozen } from './frozen.js';
import { plainArchive } from './plain-archive.js';
import type { Wire } from './wire.js';

const QUERY_MS = 4;
/** A connection that is refused is known to be so after this, milliseconds. */
const REFUSED_MS = 20;

/** The connection to Postgres broke: nobody knows whether the query had its effect. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code = 'ECONNRESET';
  constructor() {
    super('the connection to Postgres was lost');
  }
}

/** An archive that was handed out; most are never read. */
export type SavedArchive = () => Uint8Array;

/** Which row. */
type RowName = `${TableName} ${string}`;

/**
 * The read model: rows, record of transactions and applied index, moved by whole database transactions. Rows that it
 * refuses are set aside as `BatchWriter` does it, and as there, reads of such an object fail alone.
 */
export class SimulatedPostgres {
  isUp = true;
  /** True time at which a query failed last, unix milliseconds. */
  lastFailedMs = 0;
  /** Whether it refuses to store a row; a test of the row's key, so that it does not depend on when it is asked. */
  refuses: (table: TableName, key: string) => boolean = () => false;
  /** Tables of which it refuses nothing. */
  spares: ReadonlySet<TableName> = new Set();
  /** Every row that it ever refused. Lists may have lacked it. */
  readonly everRefused = new Set<RowName>();
  /** What was refused: the row as it is in the state, and the transaction that it comes from. */
  private readonly aside = new Map<
    RowName,
    { readonly table: TableName; readonly key: string; row: object; index: number }
  >();
  private readonly rows = new Map<TableName, Map<string, object>>(TABLE_NAMES.map((name) => [name, new Map()]));
  private readonly tableIndexes = new Map<TableName, number>();
  private readonly record: Applied[] = [];
  /** Index of the newest frame that was in EVENTS at the last write. */
  framed = 0;

  constructor(
    private readonly simulator: Simulator,
    private readonly wire: Wire,
  ) {}

  get appliedIndex(): number {
    return this.record.length;
  }

  /** Loads everything, backwards: the state must not depend on the order of rows. */
  loadInto(machine: StateMachine): number {
    for (const name of TABLE_NAMES) {
      const table = machine.tables[name] as Table<object>;
      for (const [key, row] of [...this.rowsOf(name)].toReversed()) table.replace(key, row);
      for (const one of this.aside.values()) if (one.table === name) table.replace(one.key, one.row);
      table.tableIndex = this.tableIndexes.get(name) ?? 0;
    }
    for (const { txn, index, verdict } of this.record)
      machine.requests.remember({
        requestId: txn.requestId,
        index,
        timeNs: txn.timeNs,
        rejected: isRejected(verdict) ? verdict : null,
      });
    machine.startAt(this.appliedIndex);
    return this.appliedIndex;
  }

  get setAside(): number {
    return this.aside.size;
  }

  /** It refuses nothing any more, and an operator has it try again: all of it is stored. */
  mend(): void {
    this.refuses = () => false;
    for (const [name, { table, key, row }] of this.aside) {
      this.rowsOf(table).set(key, row);
      this.aside.delete(name);
    }
  }

  /** Answers how many rows were refused. @throws ProjectionMovedError */
  write(applied: readonly Applied[], framed: number): SetAsideRow[] {
    const refused: SetAsideRow[] = [];
    const from = (applied[0]?.index ?? 0) - 1;
    if (from !== this.appliedIndex) throw new ProjectionMovedError(from, this.appliedIndex);
    for (const { index, changes, movesEveryTableIndex } of applied) {
      if (movesEveryTableIndex) for (const table of TABLE_NAMES) this.tableIndexes.set(table, index);
      for (const { table, key, after } of changes) {
        this.aside.delete(`${table} ${key}`);
        this.rowsOf(table).delete(key);
        if (after && this.refuses(table, key) && !this.spares.has(table)) {
          this.everRefused.add(`${table} ${key}`);
          this.aside.set(`${table} ${key}`, { table, key, row: frozen(after), index });
          refused.push(refusedRow(table, key, after, index));
        } else if (after) this.rowsOf(table).set(key, frozen(after));
        this.tableIndexes.set(table, index);
      }
    }
    this.record.push(...applied);
    this.framed = Math.max(this.framed, framed);
    return refused;
  }

  /** Everything as of this index. O(rows), and more when it is read. */
  archive(): SavedArchive {
    const { appliedIndex } = this;
    const saved = [...this.rows].map(([name, rows]) => [name, [...rows]] as const);
    const aside = [...this.aside.values()];
    return () => {
      const machine = new StateMachine();
      for (const [name, rows] of saved)
        for (const [key, row] of rows) (machine.tables[name] as Table<object>).replace(key, row);
      for (const { table, key, row } of aside) (machine.tables[table] as Table<object>).replace(key, row);
      machine.startAt(appliedIndex);
      return plainArchive(machine);
    };
  }

  /** Identifies the transaction at an index, as the record has it. */
  markAt(index: number): LogMark | undefined {
    const recorded = this.record[index - 1];
    return recorded && markOf(recorded.txn);
  }

  /** Indexes of transactions that a machine of the record is at: as `rewindProjection`, in one database transaction. */
  rewind({ machine, keepsHistoryTo, framed }: Omit<Rewound, 'txns'>): void {
    this.aside.clear();
    for (const name of TABLE_NAMES) {
      const table = machine.tables[name];
      this.rows.set(name, new Map([...table.entries()].map(([key, row]) => [key, frozen(row)])));
      this.tableIndexes.set(name, table.tableIndex);
    }
    this.record.length = keepsHistoryTo;
    this.framed = framed ?? (this.framed <= keepsHistoryTo ? this.framed : 0);
  }

  verdictOf(index: number): RecordedVerdict | undefined {
    const one = this.record[index - 1];
    return one && { index, requestId: one.txn.requestId, verdict: one.verdict };
  }

  row(table: 'jobs', key: string): Job | undefined;
  row(table: 'allocs', key: string): Allocation | undefined;
  row(table: 'scheduler_config', key: string): SchedulerConfiguration | undefined;
  row(table: 'variables', key: string): Variable | undefined;
  row<Name extends TableName>(table: Name, key: string): TableRows[Name] | undefined;
  row(table: TableName, key: string): object | undefined {
    const aside = this.aside.get(`${table} ${key}`);
    if (aside)
      throw new SetAsideError({ part: table, object: key, index: aside.index, txnName: '', reason: 'refused' });
    return this.rowsOf(table).get(key);
  }

  /** For decisions: the job also if it is set aside. */
  decidedOnJob(key: string): Job | undefined {
    return (this.aside.get(`jobs ${key}`)?.row ?? this.rowsOf('jobs').get(key)) as Job | undefined;
  }

  /** The rows of a table as a list shows them: what was refused is missing. */
  rowsIn<Name extends TableName>(table: Name): readonly TableRows[Name][] {
    return [...this.rowsOf(table).values()] as TableRows[Name][];
  }

  /** All rows of a table, for decisions: those too that were refused. */
  rowsEvenAside<Name extends TableName>(table: Name): readonly TableRows[Name][] {
    const aside = [...this.aside.values()].filter((one) => one.table === table).map(({ row }) => row);
    return [...this.rowsIn(table), ...(aside as TableRows[Name][])];
  }

  /** Index of the last change of any of the tables; 0: there was none. */
  indexOf(...tables: readonly TableName[]): number {
    return Math.max(0, ...tables.map((table) => this.tableIndexes.get(table) ?? 0));
  }

  /** How far it is, with the index of every table. */
  readPoint(): ReadPoint {
    return { applied: this.appliedIndex, tableIndexes: Object.fromEntries(this.tableIndexes) };
  }

  all(table: 'allocs' | 'job_version' | 'leases'): object[] {
    return [...this.rowsOf(table).values()];
  }

  /** One query of a process: has its effect at once, or fails before or after it. */
  query<T>(process: SimulatedProcess, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const lost = (afterMs: number): void => {
        this.lastFailedMs = this.simulator.nowMs;
        process.after(afterMs, () => reject(new ConnectionLostError()));
      };
      if (!this.isUp) return lost(REFUSED_MS);
      this.simulator.schedule(QUERY_MS / 2, `${process.name} query`, () => {
        if (!this.isUp || !process.isAlive || this.wire.happens('databaseError')) return lost(QUERY_MS / 2);
        let take: () => void;
        try {
          const result = effect();
          take = () => resolve(result);
        } catch (error) {
          take = () => reject(error instanceof Error ? error : new Error(String(error)));
        }
        if (this.wire.happens('databaseError')) lost(QUERY_MS / 2);
        else process.reachedAfter(QUERY_MS / 2, `answer → ${process.name}`, take);
      });
    });
  }

  private rowsOf(table: TableName): Map<string, object> {
    return this.rows.get(table) ?? new Map();
  }
}

const refusedRow = (part: TableName, object: string, body: object, index: number): SetAsideRow => ({
  part,
  keyHash: object,
  object,
  index,
  txnName: '',
  timeNs: 0,
  sqlstate: '54000',
  error: 'refused',
  jobKey: '',
  gone: false,
  body,
});

/** Postgres as one process sees it: what the projector writes to, what a replica starts from, what the API reads. */
export class DatabaseConnection implements ProjectionStore {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly postgres: SimulatedPostgres,
    private readonly onLoaded: (machine: StateMachine) => void,
  ) {}

  load(machine: StateMachine): Promise<number> {
    return this.query((postgres) => {
      const index = postgres.loadInto(machine);
      this.onLoaded(machine);
      return index;
    });
  }

  async write(
    applied: readonly Applied[],
    _texts: unknown,
    framed: number,
    published?: Promise<void>,
  ): Promise<readonly SetAsideRow[]> {
    await published;
    return this.query((postgres) => postgres.write(applied, framed));
  }

  framedIndex(): Promise<number> {
    return this.query((postgres) => postgres.framed);
  }

  setAside(): Promise<number> {
    return this.query((postgres) => postgres.setAside);
  }

  appliedIndex(): Promise<number> {
    return this.query((postgres) => postgres.appliedIndex);
  }

  txnVerdict(index: number): Promise<RecordedVerdict | undefined> {
    return this.query((postgres) => postgres.verdictOf(index));
  }

  /** The transaction that was projected last. */
  mark(): Promise<LogMark | undefined> {
    return this.query((postgres) => postgres.markAt(postgres.appliedIndex));
  }

  async marks(): Promise<RecordedMarks> {
    const last = await this.appliedIndex();
    return { first: 1, last, newestUpTo: (index) => this.query((postgres) => postgres.markAt(index)) };
  }

  rewind(rewound: Rewound): Promise<void> {
    return this.query((postgres) => postgres.rewind(rewound));
  }

  job(namespace: string, id: string): Promise<{ row: Job | undefined }> {
    return this.query((postgres) => ({ row: postgres.row('jobs', namespacedKey(namespace, id)) }));
  }

  decidedOnJob(namespace: string, id: string): Promise<Job | undefined> {
    return this.query((postgres) => postgres.decidedOnJob(namespacedKey(namespace, id)));
  }

  jobVersions(namespace: string, id: string): Promise<{ rows: Job[] }> {
    const isOfJob = (job: Job): boolean => job.Namespace === namespace && job.ID === id;
    return this.query((postgres) => ({ rows: (postgres.all('job_version') as Job[]).filter(isOfJob) }));
  }

  jobAllocations(namespace: string, id: string): Promise<{ rows: Allocation[] }> {
    const isOfJob = (alloc: Allocation): boolean => alloc.Namespace === namespace && alloc.JobID === id;
    return this.query((postgres) => ({ rows: (postgres.all('allocs') as Allocation[]).filter(isOfJob) }));
  }

  allocation(id: string): Promise<Allocation | undefined> {
    return this.query((postgres) => postgres.row('allocs', id));
  }

  /** Of namespaces and paths there are a few. */
  variable(namespace: string, path: string): Promise<Found<Variable>> {
    return this.query((postgres) => {
      const row = postgres.row('variables', namespacedKey(namespace, path));
      return { index: row?.ModifyIndex ?? postgres.appliedIndex, row };
    });
  }

  schedulerConfiguration(): Promise<SchedulerConfiguration | undefined> {
    return this.query((postgres) => postgres.row('scheduler_config', SINGLETON_KEY));
  }

  leases(): Promise<TableRows['leases'][]> {
    return this.query((postgres) => postgres.all('leases') as TableRows['leases'][]);
  }

  /** What `takeArchive` takes. */
  archive(): Promise<SavedArchive> {
    return this.query((postgres) => postgres.archive());
  }

  private query<T>(effect: (postgres: SimulatedPostgres) => T): Promise<T> {
    return this.postgres.query(this.process, () => effect(this.postgres));
  }
}
