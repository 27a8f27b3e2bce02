/** What is to be run beside a task, in its place: its directory, environment and user (AG-277). */
export interface ExecCommand {
  readonly command: readonly [string, ...string[]];
  /** In a pseudo-terminal; then everything comes as stdout. */
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

/** A command that runs beside a task. What nobody reads holds it up; what it does not read holds the writer up. */
export interface ExecSession {
  /** In order; null: all of it was given. One reader. */
  read(): Promise<ExecOutput | null>;
  /** Resolves when there is room for more; what an ended command does not read is dropped. */
  write(data: Uint8Array): Promise<void>;
  closeInput(): void;
  /** Nothing without a terminal. */
  resize(size: TerminalSize): void;
  /** 128 + signal for one that a signal ended. */
  readonly exitCode: Promise<number>;
  /** It and all that it started; resolves when it is gone. */
  kill(): Promise<void>;
}

/** The driver cannot run commands beside its tasks. */
export class NoExecError extends Error {
  override readonly name = 'NoExecError';
  constructor(driver: string) {
    super(`driver "${driver}" cannot run commands in its tasks`);
  }
}
