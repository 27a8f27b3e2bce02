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

/**
 * Whether trying again can help: the connection broke, the server is starting, stopping, out of room or busy. Data and
 * statement errors (SQLSTATE classes 0A, 21, 22, 23, 42) stay what they are.
 */
export function isTransientDatabaseError(error: unknown): boolean {
  if (error instanceof ProjectionMovedError || error instanceof DatabaseNewerError) return false;
  if (error instanceof RangeError || error instanceof TypeError) return false; // a defect
  return !/^(0A|21|22|23|42)/.test(databaseErrorCode(error));
}
