import type { Environment } from './server/environment.js';
import type { Clock } from '@waybill/model';
import type { ApiClient } from './server/api-client.js';
import type { DataPrinter } from './terminal/data-printer.js';
import type { Flag } from './flags/flag.js';
import type { Interrupts } from './terminal/interrupts.js';
import type { ParsedFlags } from './flags/parsed-flags.js';
import type { Terminal } from './terminal/terminal.js';

/** Number of arguments of a command, and its message for a wrong number (CL-113). */
export interface ArgumentRule {
  readonly min: number;
  readonly max: number;
  readonly otherwise: string;
}

export const NO_ARGUMENTS: ArgumentRule = { min: 0, max: 0, otherwise: 'This command takes no arguments' };

/** The arguments and flags of a command, and its help. */
interface CommandFace {
  /** Arguments in the notation of the help. */
  readonly usage: string;
  /** The short form of the command's words, if any. */
  readonly alias?: string;
  readonly description: string;
  readonly flags: readonly Flag[];
  readonly takes: ArgumentRule;
  /**
   * Number of the command's own arguments. The next one starts another program's command line, whose flags are not
   * parsed (CL-111).
   */
  readonly ownArguments?: number;
  /** Ignore unknown flags, because the command does the same with any flag. */
  readonly ignoresFlags?: true;
  /** Exit code of every failure of the command, including wrong flags, instead of the failure's own code. */
  readonly failureExitCode?: number;
}

/** A command that talks to a server, and therefore accepts the general flags too. */
export interface ServerCommand extends CommandFace {
  readonly offline?: false;
  /** The command's object belongs to no namespace, so there is no -namespace (OP-36). */
  readonly withoutNamespace?: true;
  /** Resolves with the exit code. @throws CommandFailure */
  run(call: Call): Promise<number>;
}

/** A command that makes no request. */
export interface OfflineCommand extends CommandFace {
  readonly offline: true;
  /** Resolves with the exit code. @throws CommandFailure */
  run(call: OfflineCall): Promise<number>;
}

/** A command; one module each under `commands/`. */
export type CommandSpec = ServerCommand | OfflineCommand;

/** The command line and the terminal. */
export type OfflineCall = Pick<Call, 'program' | 'typed' | 'flags' | 'args' | 'terminal'>;

/** Everything that a running command may use. */
export interface Call {
  /** Name with which the program was called (CL-101). */
  readonly program: string;
  /** The words after the program's name, as typed. */
  readonly typed: readonly string[];
  readonly flags: ParsedFlags;
  readonly args: readonly string[];
  readonly api: ApiClient;
  readonly terminal: Terminal;
  /** Prints the result as data. Undefined if the user wants text. Only for commands with DATA_FLAGS. */
  readonly data: DataPrinter | undefined;
  /** Environment, for settings without a flag. */
  readonly env: Environment;
  readonly clock: Clock;
  /** Resolves after this many milliseconds. Rejects with an AbortError at Ctrl-C or when `signal` is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Asks the user a question. Rejects if there is no answer or when `signal` is aborted. */
  readonly ask: (question: string, signal?: AbortSignal) => Promise<string>;
  /** Whether stdin and stdout are a terminal, so that the user can be asked. */
  readonly canAsk: boolean;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  /** Aborted by Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** For a command that handles Ctrl-C itself. */
  readonly interrupts: Interrupts;
}
