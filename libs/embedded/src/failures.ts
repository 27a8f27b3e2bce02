/** NatsServerBinaryError says that there is no usable nats-server. The message is one line and says what to do. */
export class NatsServerBinaryError extends Error {
  override readonly name = 'NatsServerBinaryError';
}

/**
 * AlteredProgramError says that a program differs from the one that the repository lists. `file` is the first file that
 * differs.
 */
export class AlteredProgramError extends Error {
  override readonly name = 'AlteredProgramError';
  constructor(
    readonly file: string,
    message: string,
  ) {
    super(message);
  }
}

/** PortTakenError says that another process listens on the port. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
  constructor(
    readonly port: number,
    readonly purpose: string,
  ) {
    super(`Port ${port} for ${purpose} is already taken: stop what listens there or choose another port.`);
  }
}

/** PortForbiddenError says that the operating system doesn't let this user listen on the port. */
export class PortForbiddenError extends Error {
  override readonly name = 'PortForbiddenError';
  constructor(
    readonly port: number,
    readonly purpose: string,
  ) {
    super(`This user may not listen on port ${port} for ${purpose}: choose one above 1023.`);
  }
}

export type DataDirectoryProblem =
  | 'permission'
  | 'newer'
  | 'damaged'
  | 'in-use'
  | 'foreign'
  | 'unreachable'
  | 'impossible';

/**
 * DataDirectoryError says that the data directory can't be used. `problem` says why, and the message says what to do.
 */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
  constructor(
    readonly dir: string,
    readonly problem: DataDirectoryProblem,
    message: string,
  ) {
    super(message);
  }
}

export class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
  constructor(readonly dir: string) {
    super(`No space left on the disk of ${dir}: free some or choose another data directory.`);
  }
}

/** NotRunningError says that no server runs on the data directory, so it cannot apply a change. */
export class NotRunningError extends Error {
  override readonly name = 'NotRunningError';
  constructor(readonly dir: string) {
    super(`no nats-server of Waybill runs in ${dir}: run npm start first, or name its directory with -data-dir`);
  }
}

/** UnsupportedPlatformError says that this platform has no binaries, or no way to run them. */
export class UnsupportedPlatformError extends Error {
  override readonly name = 'UnsupportedPlatformError';
}

/**
 * ServerFailedError says that a server ended or didn't get ready, for a reason without a named error. `logFile` has the
 * details.
 */
export class ServerFailedError extends Error {
  override readonly name = 'ServerFailedError';
  constructor(
    readonly server: string,
    readonly reason: string,
    readonly logFile: string,
    /** Is true if trying again shortly is likely to work. */
    readonly transient: boolean = false,
  ) {
    super(`${server} failed: ${reason} (log: ${logFile})`);
  }
}

const NAMED = [
  NatsServerBinaryError,
  AlteredProgramError,
  PortTakenError,
  PortForbiddenError,
  DataDirectoryError,
  DiskFullError,
  NotRunningError,
  UnsupportedPlatformError,
  ServerFailedError,
] as const;

/** Says whether the message alone tells the person what is wrong. Then print that one line and no stack. */
export function isNamedFailure(error: unknown): error is Error {
  return NAMED.some((named) => error instanceof named);
}
