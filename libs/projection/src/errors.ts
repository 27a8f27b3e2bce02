/** The projection is not where this writer left it: another writer has moved it. Nothing was written. */
export class ProjectionMovedError extends Error {
  override readonly name = 'ProjectionMovedError';
  /** `actual`: the index the projection is at. */
  constructor(
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`the projection is at index ${actual}, not ${expected}: another projector has written`);
  }
}

/** An index is in the read model, and is another transaction than the caller wrote: the log lost its end meanwhile. */
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
  /** Of the transaction that wrote the object. */
  readonly index: number;
  readonly txnName: string;
  /** What PostgreSQL said. */
  readonly reason: string;
}

/** What was asked for is there, but PostgreSQL refused to store it where it can be read: this object alone. */
export class SetAsideError extends Error {
  override readonly name = 'SetAsideError';
  readonly part: string;
  readonly object: string;
  readonly index: number;
  readonly txnName: string;
  /** What PostgreSQL said. */
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

/** The database was migrated by a newer version of Waybill; writing to it could destroy what that version stored. */
export class DatabaseNewerError extends Error {
  override readonly name = 'DatabaseNewerError';
  constructor(readonly unknownMigrations: readonly string[]) {
    super(
      `the database has been used by a newer version of Waybill (it has ${unknownMigrations.join(', ')}): ` +
        'start that version, or use another database',
    );
  }
}

/** The database has no (or not all) tables yet. */
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

/** `code` of a PostgreSQL error (SQLSTATE) or of the connection (`ECONNREFUSED`), "" when there is none. */
export function databaseErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/** SQLSTATE classes of errors that are the data's: it is out of range, violates a constraint, is refused or too large. */
const DATA_CLASSES = /^(22|23|44|54|P0)/;

/** PostgreSQL refuses what it was given, and will again: its SQLSTATE says that the data is at fault. */
export const isDataError = (error: unknown): boolean => DATA_CLASSES.test(databaseErrorCode(error));

/**
 * PostgreSQL's files are damaged: a page that fails its checksum, an index that contradicts itself, a file that is gone.
 * Trying again does not help; a database made anew from the log does.
 */
export const isDamage = (error: unknown): boolean => /^(XX001|XX002|58P01)$/.test(databaseErrorCode(error));

/** What to do about it, for people. */
export const DAMAGE_ADVICE =
  'the files of PostgreSQL are damaged: make the database anew from the log with ' +
  '"waybill operator projection rebuild" (WaybillDatabaseDamaged in docs/monitoring.md)';

/** A value cannot be written in the form that PostgreSQL takes: what our own encoding throws. */
export const isEncodingError = (error: unknown): boolean => error instanceof RangeError || error instanceof TypeError;

/**
 * Whether trying again can help: the connection broke, the server is starting, stopping, out of room or busy. Errors of
 * the data, of the statement (SQLSTATE classes 0A, 21, 42) and of the encoding stay what they are.
 */
export function isTransientDatabaseError(error: unknown): boolean {
  if (error instanceof ProjectionMovedError || error instanceof DatabaseNewerError) return false;
  return !isEncodingError(error) && !isDataError(error) && !/^(0A|21|42)/.test(databaseErrorCode(error));
}
