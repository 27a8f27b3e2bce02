import type { Environment } from './server/environment.js';
import type { Interrupts } from './terminal/interrupts.js';
import type { TextSink } from './terminal/terminal.js';

/** The environment and the streams of the process that runs a command. */
export interface ProcessIO {
  readonly env: Environment;
  readonly stdout: TextSink & { readonly isTTY?: boolean };
  readonly stderr: TextSink;
  /** Whether stdin is a terminal. Absent counts as no. */
  readonly stdinIsTTY?: boolean;
  readonly interrupts: Interrupts;
}
