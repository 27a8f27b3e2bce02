/**
 * The projection is not at the index where this writer left it, because another writer has moved it. Nothing was
 * written.
 */
export class ProjectionMovedError extends Error {
  override readonly name = 'ProjectionMovedError';
  /** `actual` is the present index of the projection. */
  constructor(
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`the projection is at index ${actual}, not ${expected}: another projector has written`);
  }
}

/**
 * The read model has another transaction at this index than the caller wrote, because the log lost its end meanwhile.
 */
export class OtherTransactionError extends Error {
  override readonly name = 'OtherTransactionError';
  constructor(readonly index: number) {
    super(`index ${index} is another transaction than the one that was written`);
  }
}

/** An object that PostgreSQL refused to store. */
export interface RefusedObject {
  readonly part: string;
  readonly object: string;
  /** Index of the transaction that wrote the object. */
  readonly index: number;
  readonly txnName: string;
  /** PostgreSQL's error. */
  readonly reason: string;
}

/** The object exists, but PostgreSQL refused to store it where it can be read. Only this object is affected. */
export class SetAsideError extends Error {
  override readonly name = 'SetAsideError';
  readonly part: string;
  readonly object: string;
  readonly index: number;
  readonly txnName: string;
  /** PostgreSQL's error. */
  readonly reason: string;
  constructor({ part, object, index, txnName, reason }: RefusedObject) {
    super(
      `${part} ${object} cannot be shown: PostgreSQL refused to store it (transaction ${index}, ${txnName}: ${reason}). ` +
        'It is kept aside, and nothing else is affected. After an upgrade or a repair run ' +
        '"waybill operator projection retry"',
    );
    this.part = part;
    this.object = object;
    this.index = index;
    this.txnName = txnName;
    this.reason = reason;
  }
}

/** A newer version of Waybill migrated the database. Writing to it could destroy that version's data. */
export class DatabaseNewerError extends Error {
  override readonly name = 'DatabaseNewerError';
  constructor(readonly unknownMigrations: readonly string[]) {
    super(
      `the database has been used by a newer version of Waybill (it has ${unknownMigrations.join(', ')}): ` +
        'start that version, or use another database',
    );
  }
}

/** The database lacks some or all tables. */
export class NotMigratedError extends Error {
  override readonly name = 'NotMigratedError';
  constructor(options?: ErrorOptions) {
    super(
      'the database has no tables of Waybill yet: a service that writes to it creates them when it starts',
      options,
    );
  }
}

/** The read model did not reach an index in time. */
export class ProjectionBehindError extends Error {
  override readonly name = 'ProjectionBehindError';
  constructor(
    readonly waitedFor: number,
    readonly appliedIndex: number,
  ) {
    super(`index ${waitedFor} was not projected in time; the read model is at ${appliedIndex}`);
  }
}

/** Returns the code of a PostgreSQL error (SQLSTATE) or of the connection (`ECONNREFUSED`), or "". */
export function databaseErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** SQLSTATE classes of errors in the data: out of range, a violated constraint, refused or too large. */
const DATA_CLASSES = /^(22|23|44|54|P0)/;

/** Whether PostgreSQL refuses the data itself, so that a retry would fail too. */
export const isDataError = (error: unknown): boolean => DATA_CLASSES.test(databaseErrorCode(error));

/**
 * Whether PostgreSQL's files are damaged: a page with a wrong checksum, an inconsistent index, a missing file. A retry
 * does not help; rebuilding the database from the log does.
 */
export const isDamage = (error: unknown): boolean => /^(XX001|XX002|58P01)$/.test(databaseErrorCode(error));

/** The next step for the operator. */
export const DAMAGE_ADVICE =
  'the files of PostgreSQL are damaged: make the database anew from the log with ' +
  '"waybill operator projection rebuild" (WaybillDatabaseDamaged in docs/monitoring.md)';

/** Whether a value cannot be encoded for PostgreSQL, an error of our own encoding. */
export const isEncodingError = (error: unknown): boolean => error instanceof RangeError || error instanceof TypeError;

/**
 * Whether a retry can help: the connection broke, or the server is starting, stopping, out of room or busy. Errors of
 * the data, of the statement (SQLSTATE classes 0A, 21, 42) and of the encoding are permanent.
 */
export function isTransientDatabaseError(error: unknown): boolean {
  if (error instanceof ProjectionMovedError || error instanceof DatabaseNewerError) return false;
  return !isEncodingError(error) && !isDataError(error) && !/^(0A|21|42)/.test(databaseErrorCode(error));
}
