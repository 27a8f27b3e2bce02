/** ExecCommand is a command that runs beside a task, with the task's directory, environment and user (AG-277). */
export interface ExecCommand {
  readonly command: readonly [string, ...string[]];
  /** Whether the command runs in a pseudo-terminal. Then all output is stdout. */
  readonly tty: boolean;
}

export interface ExecOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Uint8Array;
}

export interface TerminalSize {
  readonly height: number;
  readonly width: number;
}

/**
 * ExecSession is a command that runs beside a task. Unread output blocks the command, and unread input blocks the
 * writer.
 */
export interface ExecSession {
  /** Returns the next output in order, or null after the end. There may be only one reader. */
  read(): Promise<ExecOutput | null>;
  /** Writes input. Resolves when there is room for more. Input that an ended command has not read is dropped. */
  write(data: Uint8Array): Promise<void>;
  closeInput(): void;
  /** Resizes the terminal. It does nothing without one. */
  resize(size: TerminalSize): void;
  /** The exit code; 128 + signal for a command that a signal ended. */
  readonly exitCode: Promise<number>;
  /** Kills the command with all processes that it started. Resolves when it is gone. */
  kill(): Promise<void>;
}

/** NoExecError says that the driver cannot run commands beside its tasks. */
export class NoExecError extends Error {
  override readonly name = 'NoExecError';
  constructor(driver: string) {
    super(`driver "${driver}" cannot run commands in its tasks`);
  }
}
